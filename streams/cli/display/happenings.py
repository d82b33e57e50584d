"""Happenings in words: what `onward show` and `onward explain` say of an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import UNSET, Struct

from ....schemas.events import (
    Answer,
    Application,
    DeadLetter,
    Decision,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    PromiseReason,
    Question,
    Recourse,
    Reward,
)
from ....schemas.headers import format_time
from ...replay.happenings import Happening
from ...replay.shown import Shares

WHY: Mapping[PromiseReason, str] = {
    "approved": "approved",
    "model": "a new model rejects it",
    "other_features": "rejected, since other features have changed",
    "decision": "rejected by another system",
    "answered": "not carried out, and answered again",
}
INDENT = " " * 4


def in_words(happening: Happening, taught: Shares, *, is_cut: bool = False) -> Iterator[str]:
    """An event as one line, and a line for each option of a recourse or question, and for all of which it taught.

    ``is_cut`` says that the journal may have held it.
    """
    event = happening.event
    kind = event.fate if isinstance(event, Reward) else happening.kind
    where = f"{happening.topic}/{happening.partition}@{happening.offset}"
    yield f"{format_time(happening.time_ms)}  {kind:<14} {where:<20} {facts(happening)}{_notes(happening, is_cut)}"
    if isinstance(event, Recourse):
        yield from (f"{INDENT}{option.id}. {option.in_words(event.execution_source)}" for option in event.options)
    elif isinstance(event, Question):
        yield from (f"{INDENT}{option.id}. {option.actions}" for option in event.options)
    for name, (before, after) in taught.items():
        yield f"{INDENT}learned of {name}: {before:.1%} of people before, {after:.1%} after"


def _notes(happening: Happening, is_cut: bool) -> str:
    unread = "not in what is left of the journal" if is_cut else "not read by a worker yet"
    notes = {
        "sent again": happening.repeated,
        "refused": happening.refused,
        unread: not happening.was_read,
    }
    holding = [note for note, holds in notes.items() if holds]
    return f" ({', '.join(holding)})" if holding else ""


def facts(happening: Happening) -> str:
    """The content of an event, on one line."""
    match happening.event:
        case Application(features=features):
            return ", ".join(f"{name} {value}" for name, value in features.items())
        case Decision(approved=approved):
            return "approved" if approved else "rejected"
        case ModelDecision() as decision:
            return _decision(decision)
        case PromiseChange() as change:
            return _end_of_promise(change)
        case Recourse(step=step, model=model) as recourse:
            if recourse.is_revision:
                return f"revision {recourse.revision} of step {step}, model {model}, open until {recourse.expires_at}"
            return f"step {step}, model {model}, {_window(recourse)}{target_in_words(recourse)}{_answers(recourse)}"
        case NoRecourse(step=step, reason=reason, detail=detail) as none:
            owners = "; ".join(words for words in (none.scores, none.advice) if words is not UNSET)
            to_owners = f"; for the owners: {owners}" if owners else ""
            return f"{none.heading}: {detail or reason} (step {step}, {reason}){target_in_words(none)}{to_owners}"
        case Question(number=number, model=model, expires_at=expires_at):
            return f"question {number}, model {model}, open until {expires_at}"
        case Answer(option=option, question=question):
            words = "would take none" if option is None else f"would take option {option}"
            return words if question is UNSET else f"{words} of question {question}"
        case Outcome(result=result, option=option):
            return result.replace("_", " ") + (f", option {option}" if option else "")
        case Reward(reward=reward, option=option):
            return (f"reward {reward:g}" if reward is not None else "no reward") + (
                f", option {option}" if option else ""
            )
        case DeadLetter(reason=reason, detail=detail):
            return f"could not be used: {reason}: {detail}"
    return _fields(happening.event)


def _fields(event: Struct) -> str:
    """The fields of an event of a kind that is told in no other words."""
    named = msgspec.structs.asdict(event).items()
    return ", ".join(f"{name} {value}" for name, value in named if name not in ("program", "application"))


def _decision(decision: ModelDecision) -> str:
    if not isinstance(decision.round, int):
        return f"{'approved' if decision.approved else 'rejected'} by model {decision.model}{_reasons(decision)}"
    place = "a place" if decision.approved else "no place"
    score = f"score {decision.score:.4g}" if isinstance(decision.score, float) else "no score"
    return f"{place} in round {decision.round}: {score}, threshold {decision.threshold:.4g}{_reasons(decision)}"


def _reasons(decision: ModelDecision) -> str:
    reasons = "" if decision.reasons is UNSET else "; ".join(reason.text for reason in decision.reasons)
    return f": {reasons}" if reasons else ""


def _end_of_promise(change: PromiseChange) -> str:
    if isinstance(change.options, tuple):
        return _end_of_options(change, change.options)
    change_in_words = f"promise to {change.application}, target score {change.target_score:.4g}: {change.status}"
    if change.by is None or change.score is None:
        return f"{change_in_words} in round {change.settled_in}"
    return f"{change_in_words} in round {change.settled_in}, by {change.by} with score {change.score:.4g}"


def _end_of_options(change: PromiseChange, options: tuple[str, ...]) -> str:
    """The ends of some of the options of a recourse."""
    score = "" if change.score is None else f" with score {change.score:.4g}"
    by = "" if change.by is None else f", by {change.by}{score}"
    why = f": {WHY[change.reason]}" if isinstance(change.reason, str) else ""
    replaced = f"; a revised recourse replaces {', '.join(change.replaced)}" if change.replaced else ""
    noun = "option" if len(options) == 1 else "options"
    return f"{noun} {', '.join(options)} of {change.application}: {change.status}{by}{why}{replaced}"


def target_in_words(answer: Recourse | NoRecourse) -> str:
    """The promise of an answer of a program with rounds."""
    if answer.target_score is UNSET or answer.until_round is UNSET:
        return ""
    end = f", which ends {answer.expires_at}" if isinstance(answer.expires_at, str) else ""
    without = answer.rounds_without_places or ()
    pause = f", but for round {', '.join(map(str, without))} without places" if without else ""
    return f", target score {answer.target_score:.4g} up to round {answer.until_round}{end}{pause}"


def _answers(recourse: Recourse) -> str:
    """The answers on which a recourse of a person who was asked rests."""
    if recourse.answers is UNSET:
        return ""
    picked = ", ".join("none" if number is None else str(number) for number in recourse.answers) or "no answer"
    return f", by {picked}, regret {recourse.regret:.3g}"


def _window(recourse: Recourse) -> str:
    if recourse.closes_at is not None:
        return f"window until {recourse.closes_at}"
    return f"window of {recourse.closes_after_steps} steps"
