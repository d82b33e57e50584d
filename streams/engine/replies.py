"""The consequences of decisions about people: their case is closed, or they get an answer.

A decision, a round and a timer end in ``answer_people``. An answer is a recourse, or the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from numpy.typing import NDArray

from ...agents import choices
from ...agents.candidates import Explanation
from ...agents.options import OptionBatch, Options
from ...schemas.encoding import FilledValues
from ...schemas.events import Change, ExecutionSource, ModelDecision, NoRecourse, Option, Reason, Recourse, Step, Value
from ...schemas.headers import format_time
from ...schemas.not_given import NOT_GIVEN_GROUP
from ...schemas.words.texts import NoWay
from ..journal.entries import CaseKey, JournalPosition
from ..programs.plan_steps import steps_of
from ..programs.program import Program
from ..programs.reasons import PersonReasons
from .assessment import Assessment, ElicitedAnswers, SelectedOption
from .cases import APPROVED, NO_RECOURSE, OPEN, Case, CaseOption
from .contract import apply_waiting, timer_handlers
from .fold import Fold
from .picks.pick import keep_lessons
from .picks.population import learned_preferences, satisfaction_of, under_learned_preferences
from .promises.opening import open_options
from .promises.settlement import settle
from .rewards.returns import changed_columns
from .selection import select_for_steps
from .shards import Shard
from .state import CurrentModel

PROMISED: Final[Literal["open"]] = "open"
"""The status of an option that is promised."""

ChangeOrStep = TypeVar("ChangeOrStep", Change, Step)

Refusal = tuple[str, str]
"""The reason why a person gets no options, and what it is about, for the program's owners; empty where that is all."""


class DecidedCase(NamedTuple):
    """A person who is approved or rejected.

    ``assessment`` holds the options of a rejected one; it may be None where they get none for the reason ``refusal``.
    Options that were picked ahead are ``selected``, or those of ``fold.ahead`` for the entry at ``position``. Without
    either they are picked when the person is answered. ``elicited`` is what is known of somebody who could be asked.
    ``reasons`` are why the program's own model rejects them, None where that is not known.
    """

    case: Case
    approved: bool
    assessment: Assessment | None = None
    refusal: Refusal | None = None
    position: JournalPosition | None = None
    selected: tuple[SelectedOption, ...] | None = None
    elicited: ElicitedAnswers | None = None
    reasons: PersonReasons | None = None


class Terms:
    """The terms of an answer: the fields and promises beside the options. These are those of a program without rounds.

    ``model`` is the one that made the options.
    """

    def __init__(self, model: CurrentModel) -> None:
        self.model, self.program = model, model.program

    def settle(self, person: DecidedCase, fold: Fold) -> DecidedCase:
        """End the promise that a person came back with. One that is honoured may turn a rejection into an approval."""
        case, assessment = person.case, person.assessment
        assert assessment is not None, f"{case.key} is assessed"
        if self.program.promises:
            assessment = settle(case, self.program, assessment, fold)
            person = person._replace(approved=assessment.approved, assessment=assessment)
        case.score = assessment.score
        return person

    def ask_first(self, person: DecidedCase, fold: Fold) -> DecidedCase | None:
        """A rejected person as they are to be answered; None after a question to them was published."""
        return person

    def report_decision(self, person: DecidedCase, fold: Fold) -> None:
        """Publish a decision of the program's own model; count that of another system."""
        if self.program.spec.decisions == "model":
            publish_decision(person, self.program, fold)
        else:
            count_decision(self.program, fold, approved=person.approved)

    def promise_options_until(self, person: DecidedCase, selected: Sequence[SelectedOption], fold: Fold) -> int | None:
        """Promise options before they are published; return until which event time they hold, None: for ever."""
        case, program = person.case, self.program
        until_ms = program.goal.until_ms(case.time_ms)
        if not program.promises:
            return until_ms
        assert person.assessment is not None, "only an assessed person has options"
        promised_ms = open_options(case, program, self.model, person.assessment, selected, fold)
        return promised_ms if until_ms is None else min(promised_ms, until_ms)

    def execution_source(self, person: DecidedCase, shard: Shard, fold: Fold) -> ExecutionSource:
        """Where the execution probabilities of an answer come from: also picks teach them where costs are sampled."""
        return "learned" if learned_preferences(fold.state, *shard.key) else shard.execution_source

    def extra_fields(self, person: DecidedCase, none: str | None) -> Mapping[str, Any]:
        """More fields of the answer: of a recourse, or where there are no options for the reason ``none``."""
        return {}

    def after_answer(self, person: DecidedCase, selected: Sequence[SelectedOption], fold: Fold) -> None:
        """A person has been answered."""


def answer_people(people: Iterable[DecidedCase], terms: Terms, fold: Fold) -> None:
    """Let follow what the decisions mean for people, in their order.

    Step 1: the promises that a person came back with are ended; one that is honoured may approve them.
    Step 2: the decision is published or counted.
    Step 3: the case of an approved person is closed; a rejected one is asked, or answered where nothing is to be asked.
    Step 4: the events that waited for the decision are applied.
    """
    program = terms.program
    for decided in people:
        person, case = terms.settle(decided, fold), decided.case
        terms.report_decision(person, fold)
        if person.approved:
            case.close(APPROVED, fold.forget_ms(program, case.time_ms))
        elif (ready := terms.ask_first(person, fold)) is not None:
            _answer_rejected(ready, terms, fold)
        fold.save(case)
        apply_waiting(case.key, fold)


def publish_decision(person: DecidedCase, program: Program, fold: Fold, **of_round: Any) -> None:
    """Publish and count a decision of the program's own model; in a round with its number, the score and threshold."""
    case, bundle = person.case, fold.state.model(program).bundle
    name, application = case.key
    event = ModelDecision(
        program=name,
        shard=case.shard,
        application=application,
        approved=person.approved,
        model=bundle.version,
        spec=program.sha256,
        applicant=case.applicant,
        model_sha256=bundle.manifest_sha256,
        reasons=_stated_reasons(person),
        **of_round,
    )
    if person.reasons is not None and not person.approved:
        for feature in person.reasons.withheld:
            fold.count("protected_reasons", name, feature)
    count_decision(program, fold, approved=person.approved)
    fold.emit(event, f"model-decision/{name}/{application}", case.time_ms, name, case.shard)


def _stated_reasons(person: DecidedCase) -> tuple[Reason, ...] | UnsetType:
    return UNSET if person.approved or person.reasons is None else person.reasons.stated


def count_decision(program: Program, fold: Fold, *, approved: bool) -> None:
    """Count a decision for the metrics."""
    fold.count("decisions", program.name, "approved" if approved else "rejected")


@cache
def no_options(columns: int) -> OptionBatch:
    """The batch of a person without options, shape (1, ``columns``)."""
    none, nothing = np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.intp)
    empty = np.zeros(0)
    return OptionBatch(np.zeros((1, columns)), none, none, nothing, np.zeros((0, columns)), nothing, empty, empty)


def options_as_read(
    model: CurrentModel,
    assessment: Assessment,
    selected: Iterable[tuple[int | str, SelectedOption]],
    source: ExecutionSource,
    suits: NDArray[np.float64] | None = None,
) -> tuple[Option, ...]:
    """The options as people read them, each with its id: its number in the recourse, from 1.

    ``suits`` is the share of sampled people for whom each is the cheapest, where costs are sampled.
    """
    program, points = model.program, assessment.rejected_batch.points
    is_learned, promises, plans_steps = source == "learned", program.promises, model.generator.plans_steps()
    person, features = assessment.rejected_batch.people[assessment.row], program.spec.features
    texts, options = program.texts, list[Option]()
    # A comprehension would reach all these names through cells, which costs more than it saves.
    for place, (id, option) in enumerate(selected):
        changes = program.changes(assessment.values, assessment.changed, option.index, option.point)
        steps = _steps(model, assessment, option.point) if plans_steps else UNSET
        follows = program.follows(assessment.values, person, points[option.point]) or UNSET
        ends = model.vetting.ends(person, points[option.point]) if option.ends is None else option.ends
        if ends:
            last = {features[feature].name: program.codec.value(feature, end) for feature, end in ends.items()}
            changes = tuple(_ended(changes, dict(last)))
            # Of several steps of a feature the last one leads to its target.
            steps = UNSET if steps is UNSET else tuple(reversed([*_ended(reversed(steps), dict(last))]))
        options.append(
            Option(
                candidate=str(option.arm),
                changes=changes,
                cost=option.cost,
                execution_probability=option.execution,
                propensity=option.propensity,
                id=str(id),
                promise=_guarantee(model, points[option.point]) if promises else None,
                learned_execution_probability=option.learner_execution if is_learned else None,
                status=PROMISED if promises else UNSET,
                improvement_probability=_improvement_probability(model, assessment, option)
                if model.objective.aims
                else UNSET,
                suits=UNSET if suits is None else suits.item(place),
                steps=steps,
                text=texts.option(changes, steps, follows),
                follows=follows,
                learned_improvement_probability=_learned_help(program, option) if model.objective.aims else UNSET,
                improvement_interval=UNSET if option.interval is None else option.interval.ends,
            )
        )
    return tuple(options)


def _ended(changes: Iterable[ChangeOrStep], ends: dict[str, Value]) -> Iterator[ChangeOrStep]:
    """The changes, the first of each feature with the value at which it must end where more is rejected."""
    for change in changes:
        yield replace(change, at_most=ends.pop(change.feature)) if change.feature in ends else change


def _improvement_probability(model: CurrentModel, assessment: Assessment, option: SelectedOption) -> float:
    if option.helps is not None:
        return option.helps
    [probability] = model.objective.helps(assessment.rejected_batch, [option.index], [assessment.row])
    return probability


def _learned_help(program: Program, option: SelectedOption) -> float | UnsetType:
    """The probability that outcomes teach, where labels are not of everybody or there is an interval; else unset."""
    if option.interval is not None:
        return UNSET if option.interval.learned is None else option.interval.learned
    if not program.spec.label.are_selected:
        return UNSET
    expected = choices.registry[program.spec.policy.choice].expected_help(option.context)
    return UNSET if expected is None else expected


def _steps(model: CurrentModel, assessment: Assessment, point: int) -> tuple[Step, ...] | UnsetType:
    """The steps to an option: those that were asked about, else those of the generator."""
    options, cost, asked = assessment.options, model.objective.cost, assessment.asked
    if asked is not None:
        plan, weights = asked.plans[point], asked.weights
    elif (steps := model.generator.steps_to(options.person, options.points[point])) is None:
        return UNSET
    else:
        plan, weights = steps, cost.mean_weights
    return steps_of(model.program, assessment.values, options.person, plan, cost, weights)


def _guarantee(model: CurrentModel, target: NDArray[np.float64]) -> dict[str, float] | None:
    return model.promise.guarantee(target, model.bundle.model.score, model.program.spec.model.threshold)


# --- the answer to a rejected person ---------------------------------------------------------------------------------


def _answer_rejected(person: DecidedCase, terms: Terms, fold: Fold) -> None:
    """Take the next step of the person's shard and publish the answer; the case is open, or closed without a recourse.

    Step 1: windows of steps that end with this step are closed, since the learner knows of them.
    Step 2: the learner picks options.
    Step 3: the answer is published, and the step counted.
    """
    program, case = terms.program, person.case
    shard = fold.state.shard(program, case.shard)
    # Step 1: close the windows of steps that end with this step.
    for timer in fold.timers.due_by_step(shard.key, shard.step, fold.read_steps):
        timer_handlers[timer.kind].fire(timer, fold)
    # Step 2: pick options.
    selected = _selected(person, terms, shard, fold)
    if fold.observe_step is not None:
        fold.observe_step(
            shard, _observed_options(person, program), [(option.arm, option.propensity) for option in selected]
        )
    # Step 3: publish the answer, and count the step.
    if selected:
        answer: Recourse | NoRecourse = _recourse(person, shard, selected, terms, fold)
        if fields := terms.extra_fields(person, None):
            answer = replace(answer, **fields)
    else:
        answer = _no_recourse(person, shard, terms, fold)
    fold.emit(answer, recourse_id(case.key), case.time_ms, program.name, case.shard)
    if program.audited and person.assessment is not None:
        _audit(person.assessment, answer, program, fold)
    case.step = shard.step
    shard.step += 1
    fold.effects.shards.add(shard.key)
    terms.after_answer(person, selected, fold)


def _audit(assessment: Assessment, answer: Recourse | NoRecourse, program: Program, fold: Fold) -> None:
    """Count an answer for each watched group that the person is of.

    Whose value was not given is of no group with a value: that of ``missing`` is another's.
    """
    values = assessment.values
    absent = values.absent if isinstance(values, FilledValues) else frozenset()
    for number in program.audited:
        group = NOT_GIVEN_GROUP if number in absent else str(values[number])
        labels = program.name, program.spec.features[number].name, group
        fold.count("audited_people", *labels)
        if isinstance(answer, Recourse):
            fold.count("audited_recourses", *labels)
            fold.count("audited_cost", *labels, times=min(option.cost for option in answer.options))
            fold.count("audited_satisfied", *labels, times=0.0 if answer.satisfied is UNSET else answer.satisfied)


def recourse_id(key: CaseKey) -> str:
    """The ``ce_id`` of the answer to a rejected person."""
    return f"recourse/{key.program}/{key.application}"


def _selected(person: DecidedCase, terms: Terms, shard: Shard, fold: Fold) -> tuple[SelectedOption, ...]:
    """The options of the shard's next step; a learner counts one without options, too.

    Those that were selected before have an order of their own.
    """
    if person.selected is not None:
        return person.selected
    program, assessment = terms.program, person.assessment
    if assessment is None or assessment.batch is None:
        batch, row = no_options(program.codec.dimension), 0
    elif person.position is not None:
        selected = fold.ahead.select(program, shard, person.position, assessment)
        return open_ended_first(terms.model, assessment, selected)
    else:
        batch, row = assessment.batch, assessment.row
    [selected] = select_for_steps(program, shard, shard.step, batch, [row], fold.state)
    return selected if assessment is None else open_ended_first(terms.model, assessment, selected)


def open_ended_first(
    model: CurrentModel, assessment: Assessment, selected: tuple[SelectedOption, ...]
) -> tuple[SelectedOption, ...]:
    """The options in their order, those that work only up to a point after the others."""
    if model.vetting.overshoot is None or len(selected) < 2:
        return selected
    options, ends = assessment.options, model.vetting.ends
    ended = [replace(option, ends=ends(options.person, options.points[option.point])) for option in selected]
    return tuple(sorted(ended, key=lambda option: bool(option.ends)))


def _observed_options(person: DecidedCase, program: Program) -> Options:
    if person.assessment is None or person.refusal is not None:
        return no_options(program.codec.dimension).options_of(0)
    return person.assessment.options


def _recourse(
    person: DecidedCase, shard: Shard, selected: tuple[SelectedOption, ...], terms: Terms, fold: Fold
) -> Recourse:
    program, model, case, assessment = terms.program, terms.model, person.case, person.assessment
    assert assessment is not None, "only an assessed person has options"
    case.options = _case_options(selected, assessment, program)
    closes_at = _start_window(case, program, shard, fold)
    batch = under_learned_preferences(assessment.rejected_batch, program, shard.number, fold.state)
    serves = satisfaction_of(batch, [option.index for option in selected], program)
    if serves is not None:
        keep_lessons(case, serves)
    expires_ms = terms.promise_options_until(person, selected, fold)
    source, suits = terms.execution_source(person, shard, fold), None if serves is None else serves.suits
    fold.count("recourses", program.name, "recourse")
    return Recourse(
        program=program.name,
        shard=shard.number,
        application=case.key.application,
        step=shard.step,
        options=options_as_read(model, assessment, enumerate(selected, 1), source, suits),
        closes_after_steps=program.window_steps,
        closes_at=closes_at,
        applicant=case.applicant,
        expires_at=None if expires_ms is None else format_time(expires_ms),
        execution_source=source,
        improvement_source=program.improvement_source(model.bundle),
        satisfied=UNSET if serves is None else serves.satisfied,
        **model.signature,
    )


def _case_options(
    selected: Sequence[SelectedOption], assessment: Assessment, program: Program
) -> tuple[CaseOption, ...]:
    """The options as their case keeps them; what they ask for where somebody who comes back is to be recognised."""
    batch, targets = assessment.rejected_batch, [b""] * len(selected)
    if program.learns_by_stages:
        person = batch.people[assessment.row]
        targets = [changed_columns(person, batch.points[option.point], program) for option in selected]
    return tuple(
        [
            CaseOption(option.arm, option.learner_execution, None, option.context, target)
            for option, target in zip(selected, targets, strict=True)
        ]
    )


def _start_window(case: Case, program: Program, shard: Shard, fold: Fold) -> str | None:
    """Open the case until its window ends; return the event time of that, None where the window counts steps."""
    if program.window_ms is None:
        assert program.window_steps is not None, "a window counts steps or event time"
        case.wait(OPEN, shard.step + program.window_steps)
        return None
    begin_ms = fold.begin_ms(case.key, case.time_ms, program.window_ms, program)
    case.deadline_ms = begin_ms + program.window_ms
    first_ms = program.window_ms if program.acted_ms is None else program.acted_ms
    case.wait(OPEN, begin_ms + first_ms + program.lateness_ms)
    return format_time(case.deadline_ms)


def _no_recourse(person: DecidedCase, shard: Shard, terms: Terms, fold: Fold) -> NoRecourse:
    program, model, case = terms.program, terms.model, person.case
    if person.refusal is not None:
        why = Explanation(*person.refusal)
    else:
        why = model.vetting.explain(_observed_options(person, program).person)
    case.close(NO_RECOURSE, fold.forget_ms(program, case.time_ms))
    fold.count("recourses", program.name, "none")
    fold.count("no_recourse", program.name, why.reason)
    fields = terms.extra_fields(person, why.reason)
    detail, text = program.texts.none(_no_way(why, person, program, fields))
    return NoRecourse(
        program=program.name,
        shard=shard.number,
        application=case.key.application,
        step=shard.step,
        reason=why.reason,
        detail=detail,
        applicant=case.applicant,
        advice=why.advice or UNSET,
        scores="; ".join(filter(None, (why.detail, why.scores))) or UNSET,
        reasons=_stated_reasons(person),
        text=text,
        **fields,
        **model.signature,
    )


def _no_way(why: Explanation, person: DecidedCase, program: Program, fields: Mapping[str, Any]) -> NoWay:
    """The facts of the text for somebody without options, whose answer has these ``fields`` of the program's terms."""
    nearest: Sequence[Change] = ()
    if why.nearest is not None and person.assessment is not None:
        assessment = person.assessment
        nearest = program.changes_to(assessment.values, assessment.options.person, why.nearest)
    return NoWay.from_terms(why.reason, fields, nearest)
