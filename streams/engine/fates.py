"""The fates of recourses and outcomes.

Three fates close a recourse, once: *rewarded* (an outcome came in the window), *censored* (the window closed, the
learner is told reward 0) and *unseen* (the person was never shown it, the learner forgets it). The other two tell
what became of an outcome: *late* (after the window) and *dangling* (there is no recourse, or not yet at its time).
"""

from __future__ import annotations

import heapq

from ...agents.choices import Pull
from ...schemas.events import Fate, Result, Reward
from ..journal.journal import Entry
from ..programs.program import Program
from .cases import Case, Status
from .fold import Fold, joined
from .state import Shard
from .watermark import Decider

CLOSED: dict[Status, Fate] = {Status.REWARDED: "rewarded", Status.CENSORED: "censored", Status.UNSEEN: "unseen"}


def settle_outcome(fold: Fold, program: Program, case: Case, entry: Entry, result: Result) -> None:
    """Apply an outcome to a case that has been decided."""
    if case.outcome == entry.id:
        fold.count("duplicates", "outcome")
    elif case.step is None or case.candidate is None or entry.time_ms + program.lateness_ms < case.time_ms:
        _beside(fold, case, entry, "dangling")
    elif case.status in (Status.REWARDED, Status.UNSEEN):
        fold.settle(entry)
        detail = f"the recourse of application {case.key.application!r} has its outcome already"
        fold.dead_letter(entry, "already_has_outcome", detail)
    elif case.status is Status.CENSORED or (case.deadline_ms is not None and entry.time_ms > case.deadline_ms):
        _beside(fold, case, entry, "late")
    else:
        _in_time(fold, program, case, entry, result)


def close_by_time(fold: Fold, decider: Decider, watermark_ms: int) -> None:
    """Censor every open case whose window of event time its watermark has passed, earliest first."""
    closing = fold.closing[decider]
    while closing and closing[0][0] < watermark_ms:
        closes_ms, _, _, case = heapq.heappop(closing)
        if case.status is Status.OPEN and case.closes_ms == closes_ms:
            program = fold.program(case.key.program)
            _censor(fold, fold.state.shard(program, case.shard), case, case.deadline_ms or closes_ms)


def close_by_steps(fold: Fold, program: Program, shard: Shard) -> None:
    """Censor the open cases whose window of steps ends with the step about to be taken, oldest first."""
    if program.window_steps is None:
        return
    oldest = shard.step - program.window_steps
    cases = fold.open_steps[shard.key]
    while cases and (cases[0].step or 0) <= oldest:
        case = cases.popleft()
        if case.status is Status.OPEN:
            _censor(fold, shard, case, fold.entry.time_ms)


def _in_time(fold: Fold, program: Program, case: Case, entry: Entry, result: Result) -> None:
    shard = fold.state.shard(program, case.shard)
    pull = _pull(case)
    case.outcome = entry.id
    if result == "unseen":
        shard.learner.forget(pull)
        _close(fold, shard, case, Status.UNSEEN, None, entry.time_ms)
    else:
        reward = 1.0 if result == "improved" else 0.0
        shard.learner.update(pull, reward)
        steps = shard.step - pull.step
        fold.effects.delays.append((program.name, entry.time_ms - case.time_ms, steps))
        _close(fold, shard, case, Status.REWARDED, reward, entry.time_ms)


def _censor(fold: Fold, shard: Shard, case: Case, time_ms: int) -> None:
    if not shard.program.ignores_zero_reward:
        shard.learner.update(_pull(case), 0.0)
    _close(fold, shard, case, Status.CENSORED, 0.0, time_ms)


def _pull(case: Case) -> Pull:
    assert case.step is not None, f"{case.key} is open without a step"
    assert case.candidate is not None, f"{case.key} is open without a candidate"
    assert case.execution is not None, f"{case.key} is open without an execution probability"
    return Pull(case.step, case.candidate, case.execution)


def _close(fold: Fold, shard: Shard, case: Case, status: Status, reward: float | None, time_ms: int) -> None:
    program, application = case.key
    case.status, case.forget_ms = status, fold.forget_ms(shard.program, time_ms)
    fold.touch(case)
    fold.changed(shard)
    event = Reward(
        program=program,
        shard=case.shard,
        application=application,
        fate=CLOSED[status],
        reward=reward,
        step=case.step,
        candidate=str(case.candidate),
        outcome=case.outcome,
    )
    fold.count("fates", program, event.fate)
    fold.emit(event, f"reward/{program}/{application}", time_ms, program, case.shard)


def _beside(fold: Fold, case: Case, entry: Entry, fate: Fate) -> None:
    """An outcome that leaves the case as it is."""
    fold.settle(entry)
    program = case.key.program
    event = Reward(
        program=program,
        shard=case.shard,
        application=case.key.application,
        fate=fate,
        step=case.step if fate == "late" else None,
        candidate=str(case.candidate) if fate == "late" else None,
        outcome=entry.id,
    )
    fold.count("fates", program, fate)
    identity = joined(fate, program, case.key.application, entry.id)
    fold.emit(event, identity, entry.time_ms, program, case.shard)
