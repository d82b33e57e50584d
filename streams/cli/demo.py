"""``onward demo``: a simulated world, a Kafka, the production worker and counted results, on this machine."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from pydantic import Field
from rich.console import Console

from ...environments.figures.recording import Recording
from ...environments.figures.screen import Display, progress_display, tables, write_picture
from ...environments.figures.sections import RunView
from ...environments.play.contract import SimulatedWorld
from ...environments.play.driver import connect, drive, read_rest
from ...environments.registry import kind_of, worlds_in_words
from ...environments.rounds import ScorePoint
from ...schemas.events import NoRecourse
from ..errors import OnwardError
from ..kafka import connection
from ..kafka.admin.topics import create_topics
from ..kafka.client import EventReader
from ..kafka.embedded import EmbeddedBroker
from ..kafka.options import KafkaOptions
from ..outputs.decoder import DecodedEvent, EventDecoder
from ..programs.spec_check import load_program_spec
from ..records import Record
from ..settings import BrokerSettings, WorldSettings
from ..settings.fields import Names
from ..topics import Topics, plan
from .console import check_extra
from .flags.output_paths import check_file, make_new_folder
from .flags.parsing import parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.signals import interruptible
from .process.stall_timeout import StallTimeout
from .process.worker_process import WorkerProcess

DESCRIPTION = """Show Onward at work: rejected people get a way forward, and the learner gets better. Starts an embedded
Kafka (or uses the one given), the production worker and a simulated world, and counts what is on the topics."""

STATE = "state"
READY_SECONDS = 60.0
"""For this long a worker that has started may neither begin nor say what it works at."""
PATIENCE_SECONDS = 30.0
"""For this long nothing may come back while the worker does not say that it works."""
CHECK_SECONDS = 0.2
DEFAULT_REPORT = Path("onward-demo.html")
EMBEDDED_FETCH_SECONDS = 0.002
"""The embedded broker lets an empty fetch wait its whole time, even when a record arrives meanwhile."""


class DemoSettings(WorldSettings):
    """Settings of ``onward demo``."""

    brokers: Names = Field((), description="Kafka to run on, HOST:PORT, comma separated; an embedded one when absent.")
    policies: Names = Field(
        ("protoar", "linucb", "residual"),
        min_length=1,
        description="Choices, one program each; that of --spec serves beside them.",
    )
    people: int = Field(
        500,
        ge=1,
        le=1_000_000,
        description="Applications of every program, or newcomers where people come back; when absent the number that "
        "--help has for the world, if any.",
    )
    partitions: int = Field(4, ge=1, le=1000, description="Partitions of every topic.")
    replication: int = Field(1, ge=1, le=100, description="Copies of every partition, on a Kafka given by --brokers.")
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object instead of the tables.")
    report: Path | None = Field(
        None, description="HTML page to write; onward-demo.html when absent, none when absent with --json."
    )
    picture: Path | None = Field(None, description="SVG file to write the live screen to, as it is at the end.")
    pages: bool = Field(
        False, description="Go on when the run has ended: serve pages, print links for three people, until Ctrl-C."
    )
    keep: Path | None = Field(None, description="New folder to keep programs, ledgers and the worker's log in.")


@dataclass(frozen=True)
class _Kafka:
    """The Kafka of a run: ``settings`` and ``flags`` for the worker, ``options`` for the clients of this process."""

    settings: BrokerSettings
    options: KafkaOptions
    topics: Topics
    flags: tuple[str, ...] = ()


class _Session:
    """A world with the programs that serve it, and what was read of the run."""

    def __init__(self, world: SimulatedWorld, programs: Path) -> None:
        self.world = world
        self.specs = world.write(programs)
        world.warm_up(self.specs)
        self._scoreboards = world.scoreboards(self.specs, world.curve_every)
        self.simulation = world.play(self.specs, self._scoreboards)
        self.recording = Recording(self.simulation.is_rejected)

    def count(self, record: Record, read: DecodedEvent, now_ms: float) -> None:
        """Count an event that was read."""
        self.recording.add(record, read.id, read.event, now_ms)

    def view(self) -> RunView:
        """Everything counted so far."""
        scores = {self.world.policy_of(program): board.now for program, board in self._scoreboards.items()}
        shown = self.world.example_program(self.specs)
        summary = self.recording.summary(scores, shown, self.world.policy_of(shown))
        return RunView(summary, self.world.show(self.recording, summary))

    def curves(self) -> Mapping[str, Sequence[ScorePoint]]:
        """The scores over time, by policy."""
        boards = self._scoreboards.items()
        return {self.world.policy_of(program): [*board.curve, board.now] for program, board in boards}

    def read_topics(self, topics: Topics) -> tuple[str, ...]:
        """The topics that the run reads."""
        return (*EventDecoder(topics).topics, *([topics.journal] if self.world.reads_journal else []))


def run(args: Sequence[str]) -> int:
    """Run to the end; Ctrl-C and SIGTERM stop everything that was started."""
    settings = parse_settings(DemoSettings, "onward demo", f"{DESCRIPTION} {worlds_in_words()}", args)
    with interruptible():
        return demo(settings)


def demo(settings: DemoSettings) -> int:
    """Run the demo and print its results; raise ``OnwardError`` when the worker fails or leaves a person unanswered."""
    report = settings.report or (None if settings.as_json else DEFAULT_REPORT)
    for flag, path in (("--report", report), ("--picture", settings.picture)):
        if path is not None:
            check_file(flag, path)
    if settings.pages:
        check_extra("onward demo --pages")
    if settings.brokers:
        connection.connection(settings)  # refuses wrong settings before anything else is done
    console, started = Console(), monotonic()
    with ExitStack() as stack:
        stack.enter_context(quiet_kafka_clients())
        screen = stack.enter_context(progress_display(console, quiet=settings.as_json))
        work = stack.enter_context(_work_folder(settings.keep))
        session = _Session(kind_of(settings)(settings, screen.note), work / "programs")
        kafka = stack.enter_context(_kafka(settings, screen))
        _serve(session, kafka, work, screen, with_pages=settings.pages)
        session.world.end(work / STATE)
        advice = list(session.world.advice(session.specs, session.view().summary))
    facts = {
        **session.world.facts,
        "seed": str(settings.seed),
        "Kafka": "embedded" if not settings.brokers else f"{len(settings.brokers)} brokers given",
        "took": f"{monotonic() - started:.0f} s",
    }
    return _conclude(settings, console, session, report, facts, advice)


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
def _kafka(settings: DemoSettings, screen: Display) -> Iterator[_Kafka]:
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


def _serve(session: _Session, kafka: _Kafka, work: Path, screen: Display, *, with_pages: bool) -> None:
    """Run the whole simulation against the worker, and count the events on the topics; then serve pages of them."""
    if with_pages:
        from ..console.programs import console_programs

        console_programs(map(load_program_spec, session.specs.values()))  # refuses words that are not whole
    screen.note("starting the worker ...")
    flags = [
        *(flag for path in session.specs.values() for flag in ("--spec", str(path))),
        *("--state-dir", str(work / STATE), "--group", f"{kafka.topics.prefix}worker", "--no-web"),
        *([] if session.world.tick_seconds is None else ["--tick-seconds", str(session.world.tick_seconds)]),
        *kafka.flags,
    ]
    with (
        WorkerProcess(kafka.settings, flags, work / "worker.log") as worker,
        connect(kafka.options, kafka.topics, session.read_topics(kafka.topics), "beginning") as client,
    ):
        _await_worker(worker, kafka)
        screen.note(f"serving {session.world.serves} ...")
        worked, checked = 0, monotonic()

        def on_poll() -> None:
            nonlocal worked, checked
            if monotonic() - checked >= CHECK_SECONDS:
                checked = monotonic()
                worker.check()
                worked = worker.progress()
            screen.update(session.view)

        try:
            drive(
                session.simulation,
                client,
                on_event=session.count,
                on_poll=on_poll,
                patience_seconds=PATIENCE_SECONDS,
                progress=lambda: (session.recording.records, worked),
                advice=lambda: f"the worker's last words were: {worker.last_log_line()}",
            )
        except OnwardError:
            worker.check()
            raise
        if with_pages:  # what follows is no part of the run
            read_rest(client, session.count)
            _serve_pages(session, kafka, work, screen)
        worker.stop()
        if not with_pages:
            read_rest(client, session.count)


def _serve_pages(session: _Session, kafka: _Kafka, work: Path, screen: Display) -> None:
    """Serve the pages of the run's people, and of one more, until Ctrl-C."""
    from .process.demo_pages import links_to, one_more, served_pages, worth_a_look

    recording = session.recording
    shown = session.world.example_program(session.specs)
    with served_pages(kafka.settings, session.specs.values(), work) as (people_at, office_at):
        recourses = [answer for answer in recording.recourses if answer.program == shown]
        none = [answer for answer in recording.events_of(NoRecourse) if answer.program == shown]
        newcomer = one_more(kafka.options, kafka.topics, recourses)
        people = [*([newcomer] if newcomer else []), *worth_a_look(recourses, none)]
        for line in (*links_to(people, work, people_at), f"the office: {office_at}", "Ctrl-C ends it"):
            screen.note(line)
        with suppress(KeyboardInterrupt):
            while True:
                sleep(CHECK_SECONDS)


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


def _conclude(
    settings: DemoSettings,
    console: Console,
    session: _Session,
    report: Path | None,
    facts: Mapping[str, str],
    advice: Iterable[str],
) -> int:
    view = session.view()
    summary = view.summary
    if settings.as_json:
        sys.stdout.write(view.encoded.decode() + "\n")
    else:
        console.print(tables(view))
        for line in advice:
            console.out(line, highlight=False)
    if settings.picture is not None:
        write_picture(settings.picture, view)
    if report is not None:
        # matplotlib is slow to import, and most runs with --json write no report.
        from ...environments.figures.report import write_report

        write_report(report, f"Onward demo: {session.world.title}", facts, view, session.curves())
        print(f"curves: {report}", file=sys.stderr if settings.as_json else sys.stdout)
    if summary.lost or summary.conflicting_duplicates:
        raise OnwardError(
            f"{summary.lost} rejected people were never answered and {summary.conflicting_duplicates} repeats differ: "
            "the worker has a fault"
        )
    return 0
