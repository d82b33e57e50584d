"""Closing a round, in bounded pieces, so that other programs are served meanwhile.

A round goes through these phases. A small round is closed at once.

    SCORE      the model scores the members; what those who came back have achieved teaches the difficulties
    RANK       the best get the places; the goal learns from the round
    FORECAST   how probably a sample of the rejected reaches several scores
    AIM        the goal for the next rounds; the threshold is published
    ANSWER     each member is approved, or gets a recourse and a promise; what they were promised before is settled
    EXPIRE     promises that nobody came back with in time expire
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from ....agents.candidates import LinearScore
from ....agents.sigmoid import bounded_logit
from ....schemas.encoding import Problem
from ....schemas.events import Coverage, Drifted, Threshold
from ....schemas.headers import format_time
from ...programs.bundle.loader import ModelBundle
from ...programs.limited_places import equip_goal
from ...programs.program import Program
from ..cases import IN_ROUND, Case
from ..contract import TimerHandler, Work, WorkBudget
from ..fold import Fold
from ..timing.timers import Timer
from .announcement import ROUND_END, expect
from .forecast import (
    LARGE_MODEL_SAMPLE,
    SAMPLE,
    carried_over,
    learn_difficulty,
    prospects,
    sample_of,
    success_at,
)
from .member_answers import answer_members, end_promised_score
from .result import rank, result_of, second_applications
from .state import Closing, Phase, ProgramRounds, RoundCounts

LARGE_MODEL_UNITS = 50
"""The cost of a person under another model, in units."""
FORECAST_UNITS = 6
"""The cost of a person's options at one score of the forecast: high scores need the most search."""
SCORED_PER_UNIT = 2
"""How many people are scored in the time in which one is answered."""


class RoundEndTimerHandler(TimerHandler):
    """Begins to close a round: the watermark has passed its end, so nobody else can belong to it."""

    kind: ClassVar[str] = ROUND_END
    about_case: ClassVar[bool] = False

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Close the round, or as much of it as may be done at once."""
        rounds = fold.change(ProgramRounds, fold.state.program(timer.program))
        # One in which nobody was may have been closed already, before a later one.
        if int(timer.key) in rounds.due:
            rounds.overdue.append(int(timer.key))
        CLOSING.carry_on(rounds, CLOSING.budget.tick, fold)


class RoundClosing(Work[ProgramRounds]):
    """Closes the rounds of a program that have ended, one after the other."""

    state = ProgramRounds
    budget = WorkBudget(tick=400, other=5)
    """A unit is a person answered under a linear score, about 200 us."""

    def do_piece(self, state: ProgramRounds, fold: Fold) -> int:
        """Do a piece of a phase."""
        if state.closing is None:
            state.begin_closing()
        assert state.closing is not None, "a round has been begun"
        return _PHASES[state.closing.phase](state, state.closing, state.credit, fold)

    def before_change(self, program: Program, fold: Fold) -> None:
        """Close all rounds that have ended: their people are answered under the model that scored them."""
        if program.closes_rounds:
            self.finish(fold.change(ProgramRounds, program), fold)


CLOSING = RoundClosing()


def _bundle(rounds: ProgramRounds, fold: Fold) -> ModelBundle:
    return fold.state.model(rounds.program).bundle


def _unit(rounds: ProgramRounds, fold: Fold) -> int:
    """The units of work that the options of one person cost."""
    return 1 if isinstance(_bundle(rounds, fold).model.score, LinearScore) else LARGE_MODEL_UNITS


def _score(rounds: ProgramRounds, closing: Closing, units: int, fold: Fold) -> int:
    left = [member for member in rounds.members if member.score is None]
    piece = left[: units * SCORED_PER_UNIT]
    if len(piece) == len(left):
        closing.phase = Phase.RANK
    cases = fold.read_cases(rounds.program.name, [member.name for member in piece])
    rounds.drop([member for member in piece if member.name not in cases])
    rows = _encoded(rounds.program, cases)
    scored = _bundle(rounds, fold).model.score(np.array(list(rows.values()))).tolist() if rows else []
    scores = dict(zip(rows, scored, strict=True))
    for member in piece:
        if member.name in cases:
            case = cases[member.name]
            case.score = member.score = scores.get(member.name, float("nan"))
            case.wait(IN_ROUND, fold.forget_ms(rounds.program, closing.end_ms, rounds.program.undecided_ms))
            fold.save(case)
            promise = rounds.promise_of(member)
            if promise is not None and promise.targets and member.name in rows:
                learn_difficulty(rounds, promise.rows, rows[member.name])
    return 1 + len(piece) // SCORED_PER_UNIT


def _encoded(program: Program, cases: Mapping[str, Case]) -> dict[str, NDArray[np.float64]]:
    """The encoded features of cases, (D,) each, by name; without those that cannot be read."""
    read = {name: program.codec.read(case.features_json) for name, case in cases.items()}
    readable = {name: values for name, values in read.items() if not isinstance(values, Problem)}
    return dict(zip(readable, program.codec.encode_read(list(readable.values())), strict=True)) if readable else {}


def _rank(rounds: ProgramRounds, closing: Closing, units: int, fold: Fold) -> int:  # noqa: ARG001
    external = rounds.program.spec.decisions == "external"
    # Another system may decide both applications of a person.
    closing.duplicate_applications = () if external else second_applications(rounds.members)
    closing.cut, closing.threshold = rank(rounds, closing)
    closed, accepted, rejected = result_of(rounds, closing, _bundle(rounds, fold))
    rounds.learners.goal.observe(closed)
    counts = rounds.promise_counts
    counts.reached += int(closed.reached.sum())
    counts.reached_and_accepted += int((closed.reached & closed.accepted).sum())
    closing.counts = RoundCounts(
        applicants=len(rounds.members),
        newcomers=len(closed.newcomers),
        returned=len(closed.own_goal),
        reached=int(closed.reached.sum()),
        accepted=accepted,
    )
    closing.rejected = len(rejected)
    closing.drift = _drift(rounds, closing, closed.newcomers)
    closing.phase = Phase.AIM
    if rejected and rounds.learners.goal.needs_prospects:
        closing.sample = sample_of(rejected, SAMPLE if _unit(rounds, fold) == 1 else LARGE_MODEL_SAMPLE)
        closing.phase = Phase.FORECAST
    return 1 + len(rounds.members) // 100


def _drift(rounds: ProgramRounds, closing: Closing, newcomers: NDArray[np.float64]) -> tuple[Drifted, ...]:
    """Those of threshold and newcomers that have changed: watched as logits, in rounds that tell of them."""
    learners, drifted = rounds.learners, list[Drifted]()
    if closing.places and closing.rejected and learners.threshold_drift.update(float(bounded_logit(closing.threshold))):
        drifted.append("threshold")
    if len(newcomers) and learners.newcomer_drift.update(float(np.mean(bounded_logit(newcomers)))):
        drifted.append("newcomers")
    return tuple(drifted)


def _forecast(rounds: ProgramRounds, closing: Closing, units: int, fold: Fold) -> int:
    sample, scores = closing.sample, rounds.learners.goal.candidates
    cost = len(scores) * FORECAST_UNITS * _unit(rounds, fold)
    done = len(sample.success) // (8 * len(scores))
    names = sample.names[done : done + max(1, units // cost)]
    codec = rounds.program.codec
    cases = fold.read_cases(rounds.program.name, names)
    read = [codec.read(cases[name].features_json) for name in names]
    people = codec.encode_read([values for values in read if not isinstance(values, Problem)])
    sample.success += success_at(rounds, _bundle(rounds, fold), people, scores).tobytes()
    if done + len(names) == len(sample.names):
        closing.phase = Phase.AIM
    return cost * len(names)


def _aim(rounds: ProgramRounds, closing: Closing, units: int, fold: Fold) -> int:  # noqa: ARG001
    if closing.counts.accepted:
        rounds.threshold = closing.threshold
    open_promises, goal = carried_over(rounds, closing, _bundle(rounds, fold)), rounds.learners.goal
    expected = prospects(rounds, closing, open_promises)
    if closing.rejected:
        equip_goal(goal, _bundle(rounds, fold))
        closing.goal, closing.until_round, closing.forecast, closing.without = goal.aim(expected)
        rounds.goal = closing.goal
    else:
        goal.expect_returns(expected)
    closing.phase = Phase.ANSWER
    _publish_threshold(rounds, closing, len(open_promises), fold)
    return 1 + len(rounds.promised_scores) // 100


def _publish_threshold(rounds: ProgramRounds, closing: Closing, open_promises: int, fold: Fold) -> None:
    program, ended, bundle = rounds.program, rounds.promise_counts, _bundle(rounds, fold)
    event = Threshold(
        program=program.name,
        shard=0,
        round=closing.number,
        ended_at=format_time(closing.end_ms),
        places=closing.places,
        **asdict(closing.counts),
        threshold=closing.threshold,
        goal=closing.goal,
        forecast=closing.forecast,
        until_round=closing.until_round if closing.rejected else None,
        coverage=Coverage(rounds.capacity.coverage, ended.coverage, ended.rounds + 1),
        open_promises=open_promises,
        drift=closing.drift,
        model=bundle.version,
        model_sha256=bundle.manifest_sha256,
    )
    fold.count("rounds", program.name)
    for drifted in closing.drift:
        fold.count("drift_detected", program.name, drifted)
    fold.emit(event, f"threshold/{program.name}/{closing.number}", closing.end_ms, program.name)


def _answer(rounds: ProgramRounds, closing: Closing, units: int, fold: Fold) -> int:
    unit = _unit(rounds, fold)
    piece = rounds.members[: max(1, units // unit)]
    answer_members(rounds, closing, piece, fold)
    rounds.drop(piece)
    if not rounds.members:
        closing.phase = Phase.EXPIRE
    return 1 + unit * len(piece)


def _expire(rounds: ProgramRounds, closing: Closing, units: int, fold: Fold) -> int:
    over = [promise for promise in rounds.promised_scores if promise.until_round <= closing.number]
    piece = over[: units * SCORED_PER_UNIT]
    for promise in piece:
        end_promised_score(promise, "expired", rounds, fold)
    if len(piece) == len(over):
        rounds.finish()
        # Who waits in the pool has set the timer of their round.
        if rounds.calendar is not None and rounds.promised_scores:
            expect(rounds, rounds.calendar.end_of(rounds.earliest_round), fold)
    return 1 + len(piece) // SCORED_PER_UNIT


_PHASES: Mapping[Phase, Callable[[ProgramRounds, Closing, int, Fold], int]] = dict(
    zip(Phase, (_score, _rank, _forecast, _aim, _answer, _expire), strict=True)
)
"""Each does a piece of a phase, with about ``units`` of work but for one person at least, and returns how many it
took."""
