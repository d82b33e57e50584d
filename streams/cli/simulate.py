"""``onward simulate``: publishes a simulated world to a Kafka whose workers serve its programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from pydantic import Field

from ...environments.figures.recording import Recording
from ...environments.play.contract import SimulatedWorld
from ...environments.play.driver import TopicClient, connect, drive
from ...environments.play.simulation import Simulation
from ...environments.registry import kind_of, worlds_in_words
from ...environments.rounds import Scoreboard
from ...schemas.kinds import kinds
from ..errors import OnwardError, UsageError
from ..kafka import connection
from ..metrics import Metrics
from ..settings import WorldSettings
from ..settings.fields import WebHost
from ..worker.readiness import Readiness
from ..worker.web import make_app
from .display.words import mean
from .flags.parsing import missing, parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.signals import interruptible
from .process.web_thread import serving

DESCRIPTION = """Publish a simulated world, people and what becomes of them, to a Kafka whose workers serve its
programs: `onward simulate --programs DIR` writes these for `onward worker --spec DIR/NAME/spec.yaml`."""

ADVICE = "run a worker with the programs that `onward simulate --programs DIR` writes"
USED_BEFORE = "; where --run-name {} was used before, its events are repeats, which workers drop: give another name"
CURVE_EVERY = 10_000
MEASURE_SECONDS = 1.0
PRINT_SECONDS = 10.0


class SimulateSettings(WorldSettings):
    """Settings of ``onward simulate``."""

    people: int = Field(
        1500,
        ge=0,
        le=100_000_000,
        description="Applications of every program, or newcomers where people come back; 0: until stopped; when absent "
        "the number that --help has for the world, if any.",
    )
    rate: float = Field(0, ge=0, le=100_000, description="Most applications a second of every program; 0: no limit.")
    programs: Path | None = Field(
        None,
        description="Write the program folders (spec, model) into this folder and end; a worker needs them. With "
        "--world retrained or lender a second run plays the programs that are there.",
    )
    run_name: str | None = Field(
        None,
        pattern=r"^[a-zA-Z0-9._-]{1,60}$",
        description="Put before every application's id; the time of the start when absent. Not to be used twice.",
    )
    patience_seconds: float = Field(60, gt=0, le=86_400, description="Longest wait for an answer before giving up.")
    web: bool = Field(True, description="Serve /metrics with the mean expected reward, /healthz and /readyz.")
    web_host: WebHost = "127.0.0.1"
    web_port: int = Field(8081, ge=0, le=65_535, description="Port to serve them on; 0 takes a free one.")


def run(args: Sequence[str]) -> int:
    """Run to the end, or until Ctrl-C or SIGTERM."""
    settings = parse_settings(SimulateSettings, "onward simulate", f"{DESCRIPTION} {worlds_in_words()}", args)
    with interruptible():
        return simulate(settings)


def simulate(settings: SimulateSettings) -> int:
    """Write the programs, or simulate until the world ends and print the scores.

    A simulation without end is ended by an interruption, which is then no error.
    """
    kind = kind_of(settings)
    if kind.announces_models and settings.programs is None:
        raise UsageError(f"--world {kind.name}: give --programs DIR, which holds the models that are announced")
    if settings.programs is None and not settings.brokers:
        raise UsageError(missing("brokers"))
    world = kind(settings, _note)
    if settings.programs is None:
        with TemporaryDirectory(prefix="onward-") as folder:
            return _play(world, world.write(Path(folder)), settings)
    specs = world.written(settings.programs)
    if specs is None:
        print("\n".join(map(str, world.write(settings.programs).values())))
        return 0
    if not settings.brokers:
        raise UsageError(missing("brokers"))
    return _play(world, specs, settings)


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _play(world: SimulatedWorld, specs: Mapping[str, Path], settings: SimulateSettings) -> int:
    """Play a world whose programs are served, to its end or without one."""
    scores = _Scores(world.scoreboards(specs, CURVE_EVERY))
    conclusions: Sequence[str] = ()
    try:
        with _connected(settings, scores, world) as (client, run):
            for lap in [0] if world.ends else count():
                _lap(world.play(specs, scores.scoreboards, f"{run}-{lap}-"), client, scores, settings)
                nothing = Recording()
                conclusions = world.show(nothing, nothing.summary({})).conclusions
    except KeyboardInterrupt:
        if world.ends:
            raise
    print("\n".join([*scores.lines(), *conclusions]))
    return 0


class _Scores:
    """The scores of all laps, as metrics and as lines."""

    def __init__(self, scoreboards: Mapping[str, Scoreboard]) -> None:
        self.scoreboards = scoreboards
        self.metrics = Metrics()
        self._measured = self._printed = monotonic()

    def update(self) -> None:
        """Set the metrics and print the scores, when it is time."""
        now = monotonic()
        if now - self._measured >= MEASURE_SECONDS:
            self._measured = now
            for program, board in self.scoreboards.items():
                if board.now.rounds:
                    self.metrics.expected_reward_mean.labels(program).set(board.now.mer)
        if now - self._printed >= PRINT_SECONDS:
            self._printed = now
            for line in self.lines():
                print(line, file=sys.stderr, flush=True)

    def lines(self) -> Iterator[str]:
        """One line for each program."""
        for program, board in self.scoreboards.items():
            score = board.now
            yield (
                f"{program}: {score.rounds} answers, mean expected reward {score.mer:.3f} (oracle "
                f"{score.oracle_mer:.3f}), improvement {mean(score.improvement)}, cost {mean(score.cost)}, "
                f"regret {score.regret:.1f}"
            )


@contextmanager
def _connected(settings: SimulateSettings, scores: _Scores, world: SimulatedWorld) -> Iterator[tuple[TopicClient, str]]:
    """A client that reads the outputs and what the world wants to read beside them, and the name of the run."""
    run = settings.run_name or _now()
    topics = connection.topics(settings)
    with ExitStack() as stack:
        stack.enter_context(quiet_kafka_clients())
        if settings.web:
            app = make_app(scores.metrics, lambda: Readiness(True))
            port = stack.enter_context(serving(app, settings.web_host, settings.web_port))
            print(f"serving /metrics on {settings.web_host}:{port}", file=sys.stderr, flush=True)
        read = [topics.topic_of(kinds[name]) for name in world.reads]
        names = (*topics.outputs, *read, *([topics.journal] if world.reads_journal else []))
        yield stack.enter_context(connect(connection.connection(settings), topics, names, "end")), run


def _now() -> str:
    """The name of a run that has none."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S")


def _lap(simulation: Simulation, client: TopicClient, scores: _Scores, settings: SimulateSettings) -> None:
    started = monotonic()

    def on_poll() -> None:
        scores.update()
        letter = simulation.last_dead_letter
        if letter is not None:
            raise OnwardError(f"the workers refuse our events ({letter.reason}: {letter.detail}); {ADVICE}")

    def limit() -> int | None:
        return 1 + int((monotonic() - started) * settings.rate) if settings.rate else None

    drive(
        simulation,
        client,
        on_event=lambda *_: None,
        on_poll=on_poll,
        limit=limit,
        patience_seconds=settings.patience_seconds,
        advice=lambda: ADVICE + (USED_BEFORE.format(settings.run_name) if settings.run_name else ""),
    )
