"""What ``onward demo`` does: a world, its programs, a Kafka, the production worker, and an onlooker who counts."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import msgspec
from rich.console import Console

from ...environments.rounds import Scoreboard
from ..errors import OnwardError
from ..kafka import connection
from ..kafka.admin.topics import create_topics
from ..kafka.client import EventReader
from ..kafka.embedded import EmbeddedBroker
from ..kafka.options import KafkaOptions
from ..outputs.decoder import DecodedEvent, EventDecoder
from ..records import Record
from ..settings import BrokerSettings, DemoSettings
from ..simulation.lockstep import Play, Simulation
from ..simulation.run_stats import RunStats, Summary
from ..topics import Topics, plan
from .drive import connect, drain, play
from .live import ProgressDisplay, tables, view, write_picture
from .places import check_file, make_new_folder
from .programs import write_programs
from .silence import silence
from .worker_process import WorkerProcess
from .worlds import Named, build_world, check_policies

CURVE_ROUNDS = 10
READY_SECONDS = 60.0
PATIENCE_SECONDS = 30.0
CHECK_SECONDS = 0.2
DEFAULT_REPORT = Path("onward-demo.html")
EMBEDDED_FETCH_SECONDS = 0.002
"""The embedded broker lets a fetch that finds nothing wait its whole time, even when a record comes meanwhile."""


@dataclass(frozen=True)
class _Kafka:
    """Where a run takes place: how the worker and our own clients reach it, and the worker's flags for it."""

    settings: BrokerSettings
    options: KafkaOptions
    topics: Topics
    flags: tuple[str, ...] = ()


class _Run:
    """The simulation, and what is counted of it."""

    def __init__(self, named: Named, specs: Mapping[str, Path], policies: tuple[str, ...]) -> None:
        world = named.world
        self.name = named.name
        self.specs = specs
        self.total = world.rejected * len(specs)
        self.boards = {policy: Scoreboard(world, every=CURVE_ROUNDS) for policy in policies}
        plays = [Play(program, world, board) for program, board in zip(specs, self.boards.values(), strict=True)]
        self.simulation = Simulation(plays)
        self._stats = RunStats(self.simulation.rejects)

    def count(self, record: Record, read: DecodedEvent, now_ms: float) -> None:
        """Count what was read."""
        self._stats.add(record, read.id, read.event, now_ms)

    def summary(self) -> Summary:
        """Everything counted so far."""
        return self._stats.summary({policy: board.now for policy, board in self.boards.items()})


def demo(settings: DemoSettings) -> int:
    """Run the demo and print what came of it; raise ``OnwardError`` when the worker fails or loses anybody."""
    check_policies(settings.policies)
    report = settings.report or (None if settings.as_json else DEFAULT_REPORT)
    for flag, path in (("--report", report), ("--picture", settings.picture)):
        if path is not None:
            check_file(flag, path)
    console, started = Console(), monotonic()
    with ExitStack() as stack:
        stack.enter_context(silence())
        screen = stack.enter_context(view(console, quiet=settings.as_json))
        work = stack.enter_context(_work_folder(settings.keep))
        run = _prepare(settings, work, screen)
        kafka = stack.enter_context(_kafka(settings, screen))
        _serve(run, kafka, work, screen)
    facts = {
        "data": "generated people" if settings.data is None else settings.data.name,
        "applications per program": f"{settings.people:,}",
        "seed": str(settings.seed),
        "Kafka": "embedded" if not settings.brokers else f"{len(settings.brokers)} brokers given",
        "took": f"{monotonic() - started:.0f} s",
    }
    return _conclude(settings, console, run, report, facts)


def _prepare(settings: DemoSettings, work: Path, screen: ProgressDisplay) -> _Run:
    screen.note("building the world and its model ...")
    shape = {"seed": settings.seed, "people": settings.people}
    named = build_world(settings.data, settings.spec, **shape, approved_share=settings.approved_share)
    return _Run(named, write_programs(named.name, named.world, work / "programs", settings.policies), settings.policies)


@contextmanager
def _work_folder(keep: Path | None) -> Iterator[Path]:
    """A folder for the run, removed at the end unless it is to be kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="onward-demo-") as folder:
            yield Path(folder)
        return
    make_new_folder("--keep", keep)
    yield keep


@contextmanager
def _kafka(settings: DemoSettings, screen: ProgressDisplay) -> Iterator[_Kafka]:
    """The Kafka that was given, or an embedded one, with this run's own topics."""
    if settings.brokers:
        prefix = f"{settings.topic_prefix}demo-{settings.seed}-{secrets.token_hex(2)}."
        own = settings.model_copy(update={"topic_prefix": prefix})
        options = connection.connection(own)
        topics = connection.topics(own)
        create_topics(options, plan(topics, settings.partitions, settings.replication))
        screen.note(f"topics are named {prefix}...")
        yield _Kafka(own, options, topics)
        return
    topics = Topics(prefix=settings.topic_prefix)
    names = (*topics.inputs, topics.journal, *topics.outputs)
    with EmbeddedBroker(dict.fromkeys(names, settings.partitions)) as broker:
        own = settings.model_copy(update={"brokers": (broker.bootstrap,)})
        flags = ("--fetch-wait-seconds", str(EMBEDDED_FETCH_SECONDS))
        yield _Kafka(own, broker.options(), topics, flags)


def _serve(run: _Run, kafka: _Kafka, work: Path, screen: ProgressDisplay) -> None:
    """Let the worker serve the whole world, and count what is on the topics."""
    screen.note("starting the worker ...")
    flags = [
        *(flag for path in run.specs.values() for flag in ("--spec", str(path))),
        *("--state-dir", str(work / "state"), "--group", f"{kafka.topics.prefix}worker", "--no-web"),
        *kafka.flags,
    ]
    with (
        WorkerProcess(kafka.settings, flags, work / "worker.log") as worker,
        connect(kafka.options, kafka.topics, EventDecoder(kafka.topics).topics, "beginning") as link,
    ):
        _await_worker(worker, kafka)
        screen.note(f"serving {run.total:,} rejected people ...")
        check = _every(CHECK_SECONDS, worker.check)

        def turn() -> None:
            check()
            screen.offer(run.summary, run.total)

        try:
            play(
                run.simulation,
                link,
                seen=run.count,
                turn=turn,
                patience_seconds=PATIENCE_SECONDS,
                hint=lambda: f"the worker's last words were: {worker.last_words()}",
            )
        except OnwardError:
            worker.check()
            raise
        worker.stop()
        drain(link, run.count)


def _await_worker(worker: WorkerProcess, kafka: _Kafka) -> None:
    """Wait until the worker has its partitions: it tells so in the journal. Its start is no part of any latency."""
    deadline = monotonic() + READY_SECONDS
    with EventReader(kafka.options, [kafka.topics.journal]) as journal:
        while not journal.poll(CHECK_SECONDS):
            worker.check()
            if monotonic() > deadline:
                raise OnwardError(f"the worker has not begun within {READY_SECONDS:g} s: {worker.last_words()}")


def _every(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    """``call``, but at most once in so many seconds."""
    last = monotonic()

    def perhaps() -> None:
        nonlocal last
        if monotonic() - last >= seconds:
            last = monotonic()
            call()

    return perhaps


def _conclude(
    settings: DemoSettings, console: Console, run: _Run, report: Path | None, facts: Mapping[str, str]
) -> int:
    summary = run.summary()
    if settings.as_json:
        sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
    else:
        console.print(tables(summary))
    if settings.picture is not None:
        write_picture(settings.picture, summary, run.total)
    if report is not None:
        # Drawing is slow to import, and most runs with --json do not draw.
        from .report import write_report

        curves = {policy: [*board.curve, board.now] for policy, board in run.boards.items()}
        write_report(report, f"Onward demo: {run.name}", facts, summary, curves)
        print(f"curves: {report}", file=sys.stderr if settings.as_json else sys.stdout)
    if summary.lost or summary.conflicting_duplicates:
        raise OnwardError(
            f"{summary.lost} rejected people were never answered and {summary.conflicting_duplicates} repeats differ: "
            "the worker has a fault"
        )
    return 0
