"""What ``onward simulate`` does: publishes a world to a Kafka whose workers serve its programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import monotonic

from ...environments.rounds import Scoreboard
from ..errors import OnwardError, UsageError
from ..kafka import connection
from ..metrics import Metrics
from ..settings import SimulateSettings
from ..simulation.lockstep import Play, Simulation
from ..worker.readiness import Readiness
from ..worker.web import make_app
from .drive import Link, connect, play
from .flags import missing
from .programs import program_name, write_programs
from .silence import silence
from .web_thread import served
from .worlds import Named, build_world, check_policies

LAP_PEOPLE = 100_000
"""Applications after which a simulation without end plays the same world again, under new ids."""

WHAT_TO_RUN = "run a worker with the programs that `onward simulate --programs DIR` writes"
CURVE_ROUNDS = 10_000
MEASURE_SECONDS = 1.0
TELL_SECONDS = 10.0


def simulate(settings: SimulateSettings) -> int:
    """Write the programs, or play until the world ends; print the scores. Without end, an interruption is the end."""
    check_policies(settings.policies)
    if settings.programs is None and not settings.brokers:
        raise UsageError(missing("brokers"))
    named = build_world(
        settings.data,
        settings.spec,
        seed=settings.seed,
        people=settings.people or LAP_PEOPLE,
        approved_share=settings.approved_share,
    )
    if settings.programs is not None:
        return _write(settings.programs, named, settings.policies)
    scores = _Scores(named, settings.policies)
    try:
        _play(settings, scores)
    except KeyboardInterrupt:
        if settings.people:
            raise
    print("\n".join(scores.lines()))
    return 0


class _Scores:
    """The scores of all laps, as metrics and as lines."""

    def __init__(self, named: Named, policies: tuple[str, ...]) -> None:
        self.boards = {program_name(named.name, policy): Scoreboard(named.world, CURVE_ROUNDS) for policy in policies}
        self.plays = [Play(program, named.world, board) for program, board in self.boards.items()]
        self.metrics = Metrics()
        self._measured = self._told = monotonic()

    def turn(self) -> None:
        """Renew the metrics and print the scores, when it is time."""
        now = monotonic()
        if now - self._measured >= MEASURE_SECONDS:
            self._measured = now
            for program, board in self.boards.items():
                if board.now.rounds:
                    self.metrics.expected_reward_mean.labels(program).set(board.now.mer)
        if now - self._told >= TELL_SECONDS:
            self._told = now
            for line in self.lines():
                print(line, file=sys.stderr, flush=True)

    def lines(self) -> Iterator[str]:
        """One line a program."""
        for program, board in self.boards.items():
            score = board.now
            yield (
                f"{program}: {score.rounds} answers, mean expected reward {score.mer:.3f} (oracle "
                f"{score.oracle_mer:.3f}), improvement {score.improvement:.3f}, cost {score.cost:.3f}, "
                f"regret {score.regret:.1f}"
            )


def _write(folder: Path, named: Named, policies: tuple[str, ...]) -> int:
    for path in write_programs(named.name, named.world, folder, policies).values():
        print(path)
    return 0


def _play(settings: SimulateSettings, scores: _Scores) -> None:
    run = settings.run_name or datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    topics = connection.topics(settings)
    with ExitStack() as stack:
        stack.enter_context(silence())
        if settings.web:
            app = make_app(scores.metrics, lambda: Readiness(True))
            port = stack.enter_context(served(app, settings.web_host, settings.web_port))
            print(f"serving /metrics on {settings.web_host}:{port}", file=sys.stderr, flush=True)
        link = stack.enter_context(connect(connection.connection(settings), topics, topics.outputs, "end"))
        for lap in [0] if settings.people else count():
            _lap(Simulation(scores.plays, prefix=f"{run}-{lap}-"), link, scores, settings)


def _lap(simulation: Simulation, link: Link, scores: _Scores, settings: SimulateSettings) -> None:
    started = monotonic()

    def turn() -> None:
        scores.turn()
        letter = simulation.refusal
        if letter is not None:
            raise OnwardError(f"the workers refuse our events ({letter.reason}: {letter.detail}); {WHAT_TO_RUN}")

    def until() -> int | None:
        return 1 + int((monotonic() - started) * settings.rate) if settings.rate else None

    play(
        simulation,
        link,
        seen=lambda *_: None,
        turn=turn,
        until=until,
        patience_seconds=settings.patience_seconds,
        hint=lambda: WHAT_TO_RUN,
    )
