"""``onward demo``: a simulated world, a Kafka, the production worker and counted results, on this machine."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import msgspec
from msgspec import UNSET
from rich.console import Console

from ...environments.rounds import Scoreboard
from ...environments.truth import TruthWorld
from ...schemas.spec import ProgramSpec
from ..advice import advice
from ..errors import OnwardError
from ..kafka import connection
from ..kafka.admin.topics import create_topics
from ..kafka.client import EventReader
from ..kafka.embedded import EmbeddedBroker
from ..kafka.options import KafkaOptions
from ..outputs.decoder import DecodedEvent, EventDecoder
from ..programs.bundle.loader import read_manifest
from ..programs.margin import margin_of
from ..programs.program import address_of
from ..programs.spec_check import load_program_spec
from ..records import Record
from ..settings import BrokerSettings, DemoSettings
from ..simulation.lockstep import Simulation
from ..simulation.run_stats import RunStats, Summary
from ..simulation.seasons import SeasonSimulation
from ..topics import Topics, plan
from .display.progress import ProgressDisplay, progress_display
from .display.summary import tables, write_picture
from .flags.output_paths import check_file, make_new_folder
from .flags.parsing import parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.signals import interruptible
from .process.stall_timeout import StallTimeout
from .process.worker_process import WorkerProcess
from .world import shift
from .world.competition import TICK_SECONDS, CompetitionWorld, build_competition, compile_planner, write_competition
from .world.driver import Driven, connect, drive, read_rest
from .world.program_folders import offer_options, simulated_programs, write_programs
from .world.retrained import PEOPLE, RetrainedWorld, build_retrained, write_retrained
from .world.retrained import TICK_SECONDS as NO_TICKS
from .world.shift import Shift
from .world.worlds import build_world

DESCRIPTION = """Show Onward at work: rejected people get a way forward, and the learner gets better. Starts an embedded
Kafka (or uses the one given), the production worker and a simulated world, and counts what is on the topics."""

CURVE_ROUNDS = 10
STATE = "state"
READY_SECONDS = 60.0
"""For this long a worker that has started may neither begin nor say what it works at."""
PATIENCE_SECONDS = 30.0
"""For this long nothing may come back while the worker does not say that it works."""
CHECK_SECONDS = 0.2
DEFAULT_REPORT = Path("onward-demo.html")
EMBEDDED_FETCH_SECONDS = 0.002
"""The embedded broker lets an empty fetch wait its whole time, even when a record arrives meanwhile."""


@dataclass(frozen=True)
class _Kafka:
    """The Kafka of a run: ``settings`` and ``flags`` for the worker, ``options`` for the clients of this process."""

    settings: BrokerSettings
    options: KafkaOptions
    topics: Topics
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Session:
    """The simulation of every program, and its statistics.

    ``total`` is the number of rejected people of the whole run, of rounds where programs close them, or of days where
    models are trained again. ``rules`` are a spec and the margin of its options, for advice.
    """

    name: str
    specs: Mapping[str, Path]
    total: int
    simulation: Driven
    scoreboards: Mapping[str, Scoreboard]
    stats: RunStats
    facts: Mapping[str, str]
    rules: tuple[ProgramSpec, float] | None = None
    competition: CompetitionWorld | None = None
    retrained: RetrainedWorld | None = None
    shift: Shift | None = None

    def count(self, record: Record, read: DecodedEvent, now_ms: float) -> None:
        """Count an event that was read."""
        self.stats.add(record, read.id, read.event, now_ms)

    def summary(self) -> Summary:
        """Everything counted so far."""
        feasibility = UNSET if self.competition is None else self.competition.feasibility
        scores = {policy: board.now for policy, board in self.scoreboards.items()}
        shifted = UNSET if self.shift is None else self.shift.summary
        return self.stats.summary(scores, feasibility, self.retrained, shifted)

    def advice(self, summary: Summary) -> Iterator[str]:
        """What to change in the spec where many people get no option, or options with many changes."""
        if self.rules is not None:
            yield from advice(*self.rules, summary.none_share or 0.0, summary.many_changes_share or 0.0)

    @property
    def goal(self) -> str:
        """What the run serves, for people."""
        if self.retrained is not None:
            return f"{self.total:,} days"
        return f"{self.total:,} rejected people" if self.competition is None else f"{self.total:,} rounds"

    @property
    def tick_seconds(self) -> float | None:
        """How often the worker should tick; None where its default will do."""
        if self.retrained is not None:
            return NO_TICKS
        return None if self.competition is None else TICK_SECONDS

    def read_topics(self, topics: Topics) -> tuple[str, ...]:
        """The topics that the run reads: with retrained models the journal too, which shows what was applied when."""
        return (*EventDecoder(topics).topics, *([] if self.retrained is None else [topics.journal]))


def run(args: Sequence[str]) -> int:
    """Run to the end; Ctrl-C and SIGTERM stop everything that was started."""
    settings = parse_settings(DemoSettings, "onward demo", DESCRIPTION, args)
    with interruptible():
        return demo(settings)


def demo(settings: DemoSettings) -> int:
    """Run the demo and print its results; raise ``OnwardError`` when the worker fails or leaves a person unanswered."""
    report = settings.report or (None if settings.as_json else DEFAULT_REPORT)
    for flag, path in (("--report", report), ("--picture", settings.picture)):
        if path is not None:
            check_file(flag, path)
    if settings.brokers:
        connection.connection(settings)  # refuses wrong settings before anything else is done
    console, started = Console(), monotonic()
    with ExitStack() as stack:
        stack.enter_context(quiet_kafka_clients())
        screen = stack.enter_context(progress_display(console, quiet=settings.as_json))
        work = stack.enter_context(_work_folder(settings.keep))
        session = _prepare(settings, work, screen)
        kafka = stack.enter_context(_kafka(settings, screen))
        _serve(session, kafka, work, screen)
        if session.shift is not None:
            session.shift.read_omega(work / STATE, session.specs)
    facts = {
        **session.facts,
        "seed": str(settings.seed),
        "Kafka": "embedded" if not settings.brokers else f"{len(settings.brokers)} brokers given",
        "took": f"{monotonic() - started:.0f} s",
    }
    return _conclude(settings, console, session, report, facts)


def _prepare(settings: DemoSettings, work: Path, screen: ProgressDisplay) -> _Session:
    prepare = {
        "people": _prepare_people,
        shift.NAME: _prepare_people,
        "competition": _prepare_competition,
        "retrained": _prepare_retrained,
    }
    return prepare[settings.world](settings, work / "programs", screen)


def _prepare_people(settings: DemoSettings, programs: Path, screen: ProgressDisplay) -> _Session:
    shifts = settings.world == shift.NAME
    people = shift.PEOPLE if shifts and "people" not in settings.model_fields_set else settings.people
    named = build_world(
        settings.data,
        settings.spec,
        shift.POLICIES if shifts and "policies" not in settings.model_fields_set else settings.policies,
        seed=settings.seed,
        people=people,
        approved_share=settings.approved_share,
        shift=shifts,
        on_build=lambda: screen.note("building the world and its model ..."),
    )
    specs = write_programs(named.name, named.world, programs, named.choices)
    if isinstance(named.world, TruthWorld):
        screen.note("searching the best option of everybody, for the oracle ...")
        offer_options(named.world, specs.values())
    every = shift.CURVE_ROUNDS if shifts else CURVE_ROUNDS
    boards = {choice: Scoreboard(named.world, every) for choice in named.choices}
    simulation = Simulation(simulated_programs(named.world, dict(zip(specs, boards.values(), strict=True))))
    # Examples are of the spec's own policy, which comes first, else of the last: the default.
    shown = list(specs)[0 if named.own else -1]
    return _Session(
        named.name,
        specs,
        named.world.rejected * len(specs),
        simulation,
        boards,
        RunStats(simulation.is_rejected, shown),
        {
            "data": "generated people" if settings.data is None else settings.data.name,
            "applications per program": f"{people:,}",
        },
        rules=_margin(next(iter(specs.values()))),
        shift=Shift(named.world, boards) if shifts and isinstance(named.world, TruthWorld) else None,
    )


def _prepare_competition(settings: DemoSettings, programs: Path, screen: ProgressDisplay) -> _Session:
    screen.note("drawing the world and its model ...")
    built = build_competition(settings)
    specs = write_competition(built, programs)
    screen.note("compiling the planner, once ...")
    compile_planner(next(iter(specs.values())))
    boards = built.scoreboards(every=CURVE_ROUNDS)
    return _Session(
        "competition",
        specs,
        settings.rounds * len(specs),
        SeasonSimulation(built.simulated(boards)),
        dict(zip(built.choices, boards.values(), strict=True)),
        RunStats(lambda *_: False, next(iter(specs))),
        {"places in a round": str(built.settings.places), "rounds": f"{settings.rounds:,}"},
        competition=built,
    )


def _prepare_retrained(settings: DemoSettings, programs: Path, screen: ProgressDisplay) -> _Session:
    people = settings.people if "people" in settings.model_fields_set else PEOPLE
    screen.note("training the model, the models that will replace it, and the retrains of each ...")
    specs = write_retrained(settings, programs)
    world = build_retrained(settings, specs, people, every=CURVE_ROUNDS)
    return _Session(
        "retrained",
        specs,
        world.settings.days,
        world.simulation,
        world.scoreboards,
        RunStats(world.simulation.is_rejected, next(iter(specs))),
        {"newcomers per program": f"{people:,}", "days": f"{world.settings.days:,}"},
        retrained=world,
    )


def _margin(spec: Path) -> tuple[ProgramSpec, float]:
    """A program's spec, and the margin of its options; the other programs differ in their choice only."""
    loaded = load_program_spec(spec)
    manifest, _ = read_manifest(address_of(loaded))
    return loaded.spec, margin_of(loaded.spec, manifest.margin)


@contextmanager
def _work_folder(keep: Path | None) -> Iterator[Path]:
    """The folder ``keep``, or a temporary one that is removed at the end."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="onward-demo-") as folder:
            yield Path(folder)
        return
    make_new_folder("--keep", keep)
    yield keep


@contextmanager
def _kafka(settings: DemoSettings, screen: ProgressDisplay) -> Iterator[_Kafka]:
    """The Kafka of ``settings.brokers``, with topics of this run alone, or an embedded one."""
    if settings.brokers:
        prefix = f"{settings.topic_prefix}demo-{settings.seed}-{secrets.token_hex(2)}."
        prefixed = settings.model_copy(update={"topic_prefix": prefix})
        options = connection.connection(prefixed)
        topics = connection.topics(prefixed)
        create_topics(options, plan(topics, settings.partitions, settings.replication))
        screen.note(f"topics are named {prefix}...")
        yield _Kafka(prefixed, options, topics)
        return
    topics = Topics(prefix=settings.topic_prefix)
    names = (*topics.inputs, topics.journal, *topics.outputs)
    with EmbeddedBroker(dict.fromkeys(names, settings.partitions)) as broker:
        embedded = settings.model_copy(update={"brokers": (broker.bootstrap,)})
        flags = ("--fetch-wait-seconds", str(EMBEDDED_FETCH_SECONDS))
        yield _Kafka(embedded, broker.options(), topics, flags)


def _serve(session: _Session, kafka: _Kafka, work: Path, screen: ProgressDisplay) -> None:
    """Run the whole simulation against the worker, and count the events on the topics."""
    screen.note("starting the worker ...")
    flags = [
        *(flag for path in session.specs.values() for flag in ("--spec", str(path))),
        *("--state-dir", str(work / STATE), "--group", f"{kafka.topics.prefix}worker", "--no-web"),
        *([] if session.tick_seconds is None else ["--tick-seconds", str(session.tick_seconds)]),
        *kafka.flags,
    ]
    with (
        WorkerProcess(kafka.settings, flags, work / "worker.log") as worker,
        connect(kafka.options, kafka.topics, session.read_topics(kafka.topics), "beginning") as client,
    ):
        _await_worker(worker, kafka)
        screen.note(f"serving {session.goal} ...")
        worked = 0

        def look() -> None:
            nonlocal worked
            worker.check()
            worked = worker.progress()

        check = _at_most_every(CHECK_SECONDS, look)

        def on_poll() -> None:
            check()
            screen.update(session.summary, session.total)

        try:
            drive(
                session.simulation,
                client,
                on_event=session.count,
                on_poll=on_poll,
                patience_seconds=PATIENCE_SECONDS,
                progress=lambda: (session.stats.records, worked),
                advice=lambda: f"the worker's last words were: {worker.last_log_line()}",
            )
        except OnwardError:
            worker.check()
            raise
        worker.stop()
        read_rest(client, session.count)


def _await_worker(worker: WorkerProcess, kafka: _Kafka) -> None:
    """Wait for the worker's first journal record, which it writes when it owns its partitions.

    Otherwise its start would count as latency. How long it takes to import its code is the machine's affair: only
    after its first line of the log it must go on.
    """
    silence = StallTimeout(READY_SECONDS)
    with EventReader(kafka.options, [kafka.topics.journal]) as journal:
        while not journal.poll(CHECK_SECONDS):
            worker.check()
            if (progress := worker.progress()) and not silence.keep_waiting(progress):
                raise OnwardError(f"the worker has not begun within {READY_SECONDS:g} s: {worker.last_log_line()}")


def _at_most_every(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    """``call``, limited to one call in ``seconds``."""
    last = monotonic()

    def limited() -> None:
        nonlocal last
        if monotonic() - last >= seconds:
            last = monotonic()
            call()

    return limited


def _conclude(
    settings: DemoSettings, console: Console, session: _Session, report: Path | None, facts: Mapping[str, str]
) -> int:
    summary = session.summary()
    if settings.as_json:
        sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
    else:
        console.print(tables(summary))
        for line in session.advice(summary):
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    if settings.picture is not None:
        write_picture(settings.picture, summary, session.total)
    if report is not None:
        # matplotlib is slow to import, and most runs with --json write no report.
        from .display.report import write_report

        curves = {policy: [*board.curve, board.now] for policy, board in session.scoreboards.items()}
        write_report(report, f"Onward demo: {session.name}", facts, summary, curves, session.stats.rounds.rounds)
        print(f"curves: {report}", file=sys.stderr if settings.as_json else sys.stdout)
    if summary.lost or summary.conflicting_duplicates:
        raise OnwardError(
            f"{summary.lost} rejected people were never answered and {summary.conflicting_duplicates} repeats differ: "
            "the worker has a fault"
        )
    return 0
