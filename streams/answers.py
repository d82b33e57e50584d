"""Answers a rejected applicant: closes windows of steps, lets the policy choose, opens the case."""

from __future__ import annotations

import heapq

import numpy as np

from ..schemas.events import NoRecourse, Option, Recourse
from ..schemas.headers import format_time
from .assessment import Assessment
from .cases import Case, Status
from .fates import close_by_steps
from .fold import Fold
from .program import Program
from .state import Shard


def answer(fold: Fold, program: Program, case: Case, found: Assessment) -> None:
    """Give a rejected person one recourse, or the reason why there is none."""
    shard = fold.state.shard(program, case.shard)
    close_by_steps(fold, program, shard)
    fold.changed(shard)
    case.step = shard.step

    def random() -> np.random.Generator:
        return step_generator(program, shard)

    pick = shard.learner.choose(found.feasible, found.execution, random)
    if pick is None:
        _no_recourse(fold, program, shard, case, found)
    else:
        candidate = pick.candidate
        at = int(found.feasible.searchsorted(candidate))
        option = Option(
            candidate=str(candidate),
            changes=program.changes(found.values, candidate),
            cost=found.cost.item(at),
            execution_probability=found.execution.item(at),
            propensity=pick.propensity,
        )
        case.candidate, case.execution = candidate, option.execution_probability
        _open(fold, program, shard, case, option)
    shard.step += 1


def step_generator(program: Program, shard: Shard) -> np.random.Generator:
    """The random numbers of one step: the same for the same seed, program, shard and step, whatever came before."""
    name = int.from_bytes(program.name.encode(), "big")
    seed = np.random.SeedSequence([program.spec.policy.seed, name, shard.number])
    return np.random.Generator(np.random.Philox(seed).jumped(shard.step))


def _no_recourse(fold: Fold, program: Program, shard: Shard, case: Case, found: Assessment) -> None:
    model = fold.state.model(program)
    reason, detail = model.candidates.binding(found.person)
    case.status, case.forget_ms = Status.NO_RECOURSE, fold.forget_ms(program, case.time_ms)
    event = NoRecourse(
        program=program.name,
        shard=shard.number,
        application=case.key.application,
        step=shard.step,
        reason=reason,
        detail=detail,
        policy=program.spec.policy.choice,
        spec=program.sha256,
        model=model.bundle.version,
    )
    fold.count("recourses", program.name, "none")
    _emit(fold, event, case, program)


def _open(fold: Fold, program: Program, shard: Shard, case: Case, option: Option) -> None:
    case.status, case.forget_ms = Status.OPEN, None
    if program.window_ms is not None:
        case.deadline_ms = case.time_ms + program.window_ms
        case.closes_ms = case.deadline_ms + program.lateness_ms
        heapq.heappush(fold.closing[program.spec.decisions], (case.closes_ms, case.key, case.step or 0, case))
    else:
        shard.open[case.key.application] = case
    event = Recourse(
        program=program.name,
        shard=shard.number,
        application=case.key.application,
        step=shard.step,
        options=(option,),
        policy=program.spec.policy.choice,
        spec=program.sha256,
        model=fold.state.model(program).bundle.version,
        closes_after_steps=program.window_steps,
        closes_at=None if case.deadline_ms is None else format_time(case.deadline_ms),
    )
    fold.count("recourses", program.name, "recourse")
    _emit(fold, event, case, program)


def _emit(fold: Fold, event: Recourse | NoRecourse, case: Case, program: Program) -> None:
    identity = f"recourse/{program.name}/{case.key.application}"
    fold.emit(event, identity, case.time_ms, program.name, case.shard)
