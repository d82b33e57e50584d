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

from ...environments.rounds import Scoreboard
from ...environments.truth import TruthWorld
from ...schemas.kinds import kinds
from ..errors import OnwardError, UsageError
from ..kafka import connection
from ..metrics import Metrics
from ..settings import SimulateSettings
from ..simulation.lockstep import Simulation
from ..simulation.retraining import RetrainedSimulation
from ..simulation.seasons import SeasonSimulation
from ..worker.readiness import Readiness
from ..worker.web import make_app
from .display.words import mean, percentage
from .flags.parsing import missing, parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.signals import interruptible
from .process.web_thread import served
from .world.competition import build_competition, write_competition
from .world.driver import TopicClient, connect, drive
from .world.program_folders import offer_options, program_name, simulated_programs, write_programs
from .world.retrained import PEOPLE, ROBUST, RetrainedWorld, build_retrained, spec_files, write_retrained
from .world.shift import NAME as SHIFT
from .world.worlds import NamedWorld, build_world, check_policies

DESCRIPTION = """Publish a simulated world, people and what becomes of them, to a Kafka whose workers serve its
programs: `onward simulate --programs DIR` writes these for `onward worker --spec DIR/NAME/spec.yaml`."""

LAP_PEOPLE = 100_000
"""Applications after which a simulation without end repeats the same world under new ids."""

ADVICE = "run a worker with the programs that `onward simulate --programs DIR` writes"
CURVE_ROUNDS = 10_000
MEASURE_SECONDS = 1.0
PRINT_SECONDS = 10.0


def run(args: Sequence[str]) -> int:
    """Run to the end, or until Ctrl-C or SIGTERM."""
    settings = parse_settings(SimulateSettings, "onward simulate", DESCRIPTION, args)
    with interruptible():
        return simulate(settings)


def simulate(settings: SimulateSettings) -> int:
    """Write the programs, or simulate until the world ends and print the scores.

    A simulation without end is ended by an interruption, which is then no error.
    """
    check_policies(settings.policies)
    if settings.world == "retrained":
        return _retrain(settings)
    if settings.programs is None and not settings.brokers:
        raise UsageError(missing("brokers"))
    if settings.world == "competition":
        return _compete(settings)
    named = build_world(
        settings.data,
        settings.spec,
        settings.policies,
        seed=settings.seed,
        people=settings.people or LAP_PEOPLE,
        approved_share=settings.approved_share,
        shift=settings.world == SHIFT,
    )
    if settings.programs is not None:
        return _list(write_programs(named.name, named.world, settings.programs, named.choices))
    if isinstance(named.world, TruthWorld):
        _offer(named, named.world)
    names = [program_name(named.name, choice) for choice in named.choices]
    scores = _Scores({name: Scoreboard(named.world, CURVE_ROUNDS) for name in names})
    programs = simulated_programs(named.world, scores.scoreboards)
    try:
        with _connected(settings, scores, ()) as (client, run):
            for lap in [0] if settings.people else count():
                _lap(Simulation(programs, prefix=f"{run}-{lap}-"), client, scores, settings)
    except KeyboardInterrupt:
        if settings.people:
            raise
    print("\n".join(scores.lines()))
    return 0


def _compete(settings: SimulateSettings) -> int:
    """Write the programs of the competition, or play it to its end."""
    built = build_competition(settings)
    if settings.programs is not None:
        return _list(write_competition(built, settings.programs))
    scores = _Scores(built.scoreboards(CURVE_ROUNDS))
    # Applications and outcomes are read back: a round ends when all of its own are on their topics.
    with _connected(settings, scores, ("application", "outcome")) as (client, run):
        _lap(SeasonSimulation(built.simulated(scores.scoreboards), prefix=f"{run}-"), client, scores, settings)
    print("\n".join(scores.lines()))
    return 0


def _retrain(settings: SimulateSettings) -> int:
    """Write the programs of the world with retrained models, or play it with those that are written."""
    folder = settings.programs
    if folder is None:
        raise UsageError("--world retrained: give --programs DIR, which holds the models that are announced")
    if not (folder / ROBUST).exists():
        return _list(write_retrained(settings, folder))
    if not settings.brokers:
        raise UsageError(missing("brokers"))
    people = settings.people if "people" in settings.model_fields_set else PEOPLE
    if not people:
        raise UsageError("--people 0: a world with retrained models ends, give a number of newcomers")
    run = settings.run_name or _now()
    world = build_retrained(settings, spec_files(folder), people, CURVE_ROUNDS, prefix=f"{run}-")
    scores = _Scores({world.programs[name]: board for name, board in world.scoreboards.items()})
    with _connected(settings, scores, (), journal=True) as (client, _):
        _lap(world.simulation, client, scores, settings)
    print("\n".join([*scores.lines(), *_turned_away(world)]))
    return 0


def _turned_away(world: RetrainedWorld) -> Iterator[str]:
    """One line for each program."""
    for name, program in world.programs.items():
        returns = [one for one in world.returns if one.program == program]
        share = percentage(getattr(world.turned_away, name))
        yield f"{program}: of {sum(one.done for one in returns)} who did what was asked, {share} were turned away"


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


def _list(specs: Mapping[str, Path]) -> int:
    for path in specs.values():
        print(path)
    return 0


def _offer(named: NamedWorld, world: TruthWorld) -> None:
    """Tell the world what its programs suggest, which the oracle needs: the folders of the workers are elsewhere."""
    print("searching the best option of everybody, for the oracle ...", file=sys.stderr, flush=True)
    with TemporaryDirectory(prefix="onward-") as folder:
        offer_options(world, write_programs(named.name, world, Path(folder), named.choices).values())


@contextmanager
def _connected(
    settings: SimulateSettings, scores: _Scores, inputs: Sequence[str], *, journal: bool = False
) -> Iterator[tuple[TopicClient, str]]:
    """A client that reads the outputs and the topics of these kinds of ``inputs``, and the name of the run.

    With ``journal`` it reads the journal too.
    """
    run = settings.run_name or _now()
    topics = connection.topics(settings)
    with ExitStack() as stack:
        stack.enter_context(quiet_kafka_clients())
        if settings.web:
            app = make_app(scores.metrics, lambda: Readiness(True))
            port = stack.enter_context(served(app, settings.web_host, settings.web_port))
            print(f"serving /metrics on {settings.web_host}:{port}", file=sys.stderr, flush=True)
        names = (*topics.outputs, *(topics.of(kinds[name]) for name in inputs), *([topics.journal] if journal else []))
        yield stack.enter_context(connect(connection.connection(settings), topics, names, "end")), run


def _now() -> str:
    """The name of a run that has none."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S")


def _lap(
    simulation: Simulation | SeasonSimulation | RetrainedSimulation,
    client: TopicClient,
    scores: _Scores,
    settings: SimulateSettings,
) -> None:
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
        advice=lambda: ADVICE,
    )
