"""Answers a rejected applicant: closes windows of steps, lets the policy choose, opens the case."""

from __future__ import annotations

import heapq

from ...schemas.events import NoRecourse, Option, Recourse
from ...schemas.headers import format_time
from ..journal.journal import JournalPosition
from ..programs.program import Program
from .assessment import Assessment
from .cases import Case, Status
from .fates import close_by_steps
from .fold import Fold
from .selection import Chosen, Steps
from .state import Shard


def answer(fold: Fold, steps: Steps, program: Program, case: Case, place: JournalPosition, found: Assessment) -> None:
    """Give a rejected person one recourse, or the reason why there is none. ``place`` is that of the entry they were
    assessed for."""
    shard = fold.state.shard(program, case.shard)
    close_by_steps(fold, program, shard)
    fold.changed(shard)
    case.step = shard.step
    chosen = steps.take(program, shard, place, found)
    if chosen is None:
        _no_recourse(fold, program, shard, case, found)
    else:
        _open(fold, program, shard, case, found, chosen)
    shard.step += 1


def _no_recourse(fold: Fold, program: Program, shard: Shard, case: Case, found: Assessment) -> None:
    assert found.among is not None, "only who is rejected is answered"
    model = fold.state.model(program)
    reason, detail = model.candidates.binding(found.among.people[found.row])
    case.status, case.forget_ms = Status.NO_RECOURSE, fold.forget_ms(program, case.time_ms)
    event = NoRecourse(
        program=program.name,
        shard=shard.number,
        application=case.key.application,
        step=shard.step,
        reason=reason,
        detail=detail,
        policy=program.spec.policy.choice,
        policy_version=program.policy_version,
        spec=program.sha256,
        model=model.bundle.version,
    )
    fold.count("recourses", program.name, "none")
    _emit(fold, event, case, program)


def _open(fold: Fold, program: Program, shard: Shard, case: Case, found: Assessment, chosen: Chosen) -> None:
    candidate = chosen.candidate
    changes = program.changes(found.values, candidate)
    option = Option(str(candidate), changes, chosen.cost, chosen.execution, chosen.propensity)
    case.candidate, case.execution = candidate, chosen.counted
    case.status, case.forget_ms = Status.OPEN, None
    closes_at = None
    if program.window_ms is not None:
        case.deadline_ms = case.time_ms + program.window_ms
        case.closes_ms = case.deadline_ms + program.lateness_ms
        closes_at = format_time(case.deadline_ms)
        heapq.heappush(fold.closing[program.spec.decisions], (case.closes_ms, case.key, shard.step, case))
    else:
        fold.open_steps[shard.key].append(case)
    event = Recourse(
        program.name,
        shard.number,
        case.key.application,
        shard.step,
        (option,),
        program.spec.policy.choice,
        program.policy_version,
        program.sha256,
        fold.state.model(program).bundle.version,
        program.window_steps,
        closes_at,
    )
    fold.count("recourses", program.name, "recourse")
    _emit(fold, event, case, program)


def _emit(fold: Fold, event: Recourse | NoRecourse, case: Case, program: Program) -> None:
    identity = f"recourse/{program.name}/{case.key.application}"
    fold.emit(event, identity, case.time_ms, program.name, case.shard)
