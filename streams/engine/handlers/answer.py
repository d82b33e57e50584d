"""The answer to a rejected person: a recourse, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ....schemas.events import APPLY_AGAIN, ExecutionSource, NoRecourse, Option, Recourse
from ....schemas.headers import format_time
from ...journal.entries import Entry
from ...programs.program import Program
from ..assessment import Assessment
from ..cases import NO_RECOURSE, OPEN, Case, CaseOption
from ..fold import Fold
from ..selection import LookAhead, Selected
from ..state import CurrentModel, Shard
from .contract import timer_handlers
from .promises.opening import open_options

PROMISED: Final[Literal["open"]] = "open"
"""The status of an option that is promised."""


def answer(case: Case, program: Program, entry: Entry, assessment: Assessment, fold: Fold, ahead: LookAhead) -> None:
    """Take the shard's next step and publish the answer; the case is open, or closed without a recourse.

    Step 1: windows of steps that end with this step are closed, since the learner knows of them.
    Step 2: the learner selects options.
    Step 3: the answer is published, and the shard's step counted.
    """
    shard = fold.state.shard(program, case.shard)
    # Step 1: close the windows of steps that end with this step.
    for timer in fold.timers.due_by_step(shard.key, shard.step):
        timer_handlers[timer.kind].fire(timer, fold)
    # Step 2: select options.
    selected = ahead.select(program, shard, entry.position, assessment)
    # Step 3: publish the answer, and count the step.
    publish(case, program, shard, fold.state.model(program), assessment, selected, fold)


class Terms(NamedTuple):
    """What a round says to those whom it rejects: its number and end, the score to reach, and until when it holds."""

    round: int
    end_ms: int
    target_score: float
    until_round: int
    expires_ms: int | None


def publish(
    case: Case,
    program: Program,
    shard: Shard,
    model: CurrentModel,
    assessment: Assessment,
    selected: tuple[Selected, ...],
    fold: Fold,
    terms: Terms | None = None,
) -> None:
    """Publish the answer of the shard's step, and count the step. The case is open, or closed without a recourse."""
    if fold.observe_step is not None:
        fold.observe_step(shard, assessment.options, [(option.arm, option.propensity) for option in selected])
    if selected:
        _publish_recourse(case, program, shard, model, assessment, selected, fold, terms)
    else:
        reason, detail = model.generator.explain(assessment.options.person)
        publish_none(case, program, shard, model, (reason, detail), fold, terms)


def publish_none(
    case: Case,
    program: Program,
    shard: Shard,
    model: CurrentModel,
    why: tuple[str, str],
    fold: Fold,
    terms: Terms | None = None,
) -> None:
    """Publish that there is no recourse, close the case, and count the step."""
    reason, detail = why
    case.status, case.forget_ms, case.features = NO_RECOURSE, fold.forget_ms(program, case.time_ms), None
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
        applicant=case.applicant,
        model_sha256=model.bundle.manifest_sha256,
        round=UNSET if terms is None else terms.round,
        target_score=UNSET if terms is None else terms.target_score,
    )
    if terms is not None and reason == APPLY_AGAIN:
        event = replace(
            event,
            until_round=terms.until_round,
            valid_from=format_time(terms.end_ms),
            expires_at=UNSET if terms.expires_ms is None else format_time(terms.expires_ms),
        )
    fold.count("recourses", program.name, "none")
    fold.count("no_recourse", program.name, reason)
    _emit(event, case, fold)
    _count_step(case, shard, fold)


def _publish_recourse(
    case: Case,
    program: Program,
    shard: Shard,
    model: CurrentModel,
    assessment: Assessment,
    selected: tuple[Selected, ...],
    fold: Fold,
    terms: Terms | None,
) -> None:
    case.options = tuple(
        [CaseOption(option.arm, option.learner_execution, None, option.context) for option in selected]
    )
    closes_at = _open(case, program, shard)
    expires_ms = program.goal.until_ms(case.time_ms) if terms is None else terms.expires_ms
    if program.promises:
        until_ms = open_options(case, program, model, assessment, selected, fold)
        expires_ms = until_ms if expires_ms is None else min(until_ms, expires_ms)
    source = fold.state.execution_source(program, shard.number)
    event = Recourse(
        program.name,
        shard.number,
        case.key.application,
        shard.step,
        options_of(program, model, assessment, enumerate(selected, 1), source),
        program.spec.policy.choice,
        program.policy_version,
        program.sha256,
        model.bundle.version,
        program.window_steps,
        closes_at,
        case.applicant,
        None if expires_ms is None else format_time(expires_ms),
        source,
        model.bundle.manifest_sha256,
        improvement_source=program.improvement_source(model.bundle),
    )
    if terms is not None:
        event = replace(
            event,
            round=terms.round,
            target_score=terms.target_score,
            until_round=terms.until_round,
            valid_from=format_time(terms.end_ms),
        )
    fold.count("recourses", program.name, "recourse")
    _emit(event, case, fold)
    _count_step(case, shard, fold)


def _count_step(case: Case, shard: Shard, fold: Fold) -> None:
    case.step = shard.step
    shard.step += 1
    fold.effects.shards.add(shard.key)


def options_of(
    program: Program,
    model: CurrentModel,
    assessment: Assessment,
    selected: Iterable[tuple[int | str, Selected]],
    source: ExecutionSource,
) -> tuple[Option, ...]:
    """The options as people read them, each with its id: its number in the recourse, from 1."""
    batch = assessment.batch
    outlook = None if batch is None or not model.objective.aims else batch.outlook
    helps = None if outlook is None else outlook.probability
    options: list[Option] = []
    # A comprehension would reach all these names through cells, which costs more than it saves.
    for id, option in selected:
        options.append(
            Option(
                str(option.arm),
                program.changes(assessment.values, assessment.changed, option.index, option.point),
                option.cost,
                option.execution,
                option.propensity,
                str(id),
                _guarantee(program, model, assessment, option) if program.promises else None,
                option.learner_execution if source == "learned" else None,
                PROMISED if program.promises else UNSET,
                UNSET if helps is None else helps(option.index),
            )
        )
    return tuple(options)


def _guarantee(
    program: Program, model: CurrentModel, assessment: Assessment, option: Selected
) -> dict[str, float] | None:
    batch = assessment.batch
    assert batch is not None, "only a rejected person has options"
    return model.promise.guarantee(batch.points[option.point], model.bundle.model.score, program.spec.model.threshold)


def _open(case: Case, program: Program, shard: Shard) -> str | None:
    """Open the case until its window ends; the event time at which it does, None where the window counts steps."""
    case.status, case.forget_ms = OPEN, None
    if program.window_ms is None:
        assert program.window_steps is not None, "a window counts steps or event time"
        case.closes_step = shard.step + program.window_steps
        return None
    case.deadline_ms = case.time_ms + program.window_ms
    case.closes_ms = case.deadline_ms + program.lateness_ms
    return format_time(case.deadline_ms)


def _emit(event: Recourse | NoRecourse, case: Case, fold: Fold) -> None:
    program, application = case.key
    fold.emit(event, f"recourse/{program}/{application}", case.time_ms, program, case.shard)
