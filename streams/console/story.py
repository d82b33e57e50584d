"""A case as a case worker reads it: what happened, oldest first, in English."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET, Struct

from ...schemas.events import (
    Acted,
    Answer,
    Application,
    Change,
    DeadLetter,
    Decision,
    ModelDecision,
    NoRecourse,
    Option,
    Outcome,
    PromiseChange,
    Question,
    Recourse,
    Reward,
)
from ...schemas.headers import format_time, parse_time
from ...schemas.words.numbers import form_of, locale_of
from ...schemas.words.sentences import read_sentences
from ...schemas.words.texts import LanguageTexts
from ..replay.happenings import Happening

FOLDER = Path(__file__).parent
ENGLISH = "en"
HIDDEN = "hidden"
"""Stands for a value of personal data."""


class StoryEntry(NamedTuple):
    """One event of a story. ``mark`` is ``key`` where Onward spoke, ``turn`` where something broke or was refused."""

    mark: str
    iso: str
    when: str
    who: str
    title: str
    notes: Sequence[str]
    lines: Sequence[str]
    ways: Sequence[tuple[str, str]]
    where: str
    id: str


class Pending(NamedTuple):
    """What a case waits for."""

    when: str
    title: str


class _Said(NamedTuple):
    """What an event says."""

    title: str
    who: str = ""
    mark: str = ""
    lines: Sequence[str] = ()
    options: Sequence[Option] = ()


def story(happenings: Sequence[Happening], texts: LanguageTexts, hidden: Container[str] = ()) -> list[StoryEntry]:
    """The entries of a case's events, which come by event time; without the values of ``hidden`` features."""
    return [_entry(happening, texts, hidden) for happening in happenings]


def say(sentence: str, *, n: int | None = None, **given: object) -> str:
    """A sentence for the office."""
    forms = read_sentences(FOLDER, "office")[sentence]
    text: str = forms if isinstance(forms, str) else form_of(forms, locale_of(ENGLISH), Decimal(n or 0))
    return text.format(n=n, **given)


def day(time_ms: int) -> str:
    """The day of a time, of UTC, such as 14 October 2026."""
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{at.day} {at:%B %Y}"


def minute(time_ms: int) -> str:
    """A time of UTC, such as 14 Oct 2026, 09:30."""
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{at.day} {at:%b %Y, %H:%M}"


def way_line(option: Option, texts: LanguageTexts, hidden: Container[str] = ()) -> str:
    """A way in one line: of each feature from where to where, but for ``hidden`` ones."""
    return "; ".join(_move(change, texts, change.feature in hidden) for change in option.steps or option.changes)


def _entry(happening: Happening, texts: LanguageTexts, hidden: Container[str]) -> StoryEntry:
    said = _in_words(happening.event)
    notes = [
        say(f"note.{name}")
        for name, holds in (("repeated", happening.repeated), ("refused", happening.refused))
        if holds
    ]
    return StoryEntry(
        "turn" if happening.refused else said.mark,
        format_time(happening.time_ms),
        minute(happening.time_ms),
        said.who,
        said.title,
        notes,
        said.lines,
        [(option.id, way_line(option, texts, hidden)) for option in said.options],
        f"{happening.topic}/{happening.partition}@{happening.offset}",
        happening.id,
    )


def _in_words(event: Struct) -> _Said:
    find = _SAYS.get(type(event))
    return _Said(type(event).__name__) if find is None else find(event)


def _applied(_: Application) -> _Said:
    return _Said(say("story.applied"), say("who.applicant"))


def _decided(event: Decision) -> _Said:
    return _Said(say("story.approved" if event.approved else "story.rejected"), say("who.system"))


def _model_decided(event: ModelDecision) -> _Said:
    who = say("who.model", model=event.model)
    reasons = [] if event.reasons is UNSET else [reason.text for reason in event.reasons]
    if isinstance(event.round, int):
        return _Said(say("story.place" if event.approved else "story.no_place", round=event.round), who, lines=reasons)
    return _Said(say("story.approved" if event.approved else "story.rejected"), who, lines=reasons)


def _asked(event: Question) -> _Said:
    until = day(parse_time(event.expires_at.encode()))
    return _Said(say("story.question", number=event.number, date=until), "Onward", "key", options=event.options)


def _told(event: Recourse) -> _Said:
    title = say("story.revised" if event.is_revision else "story.told", n=len(event.options))
    if event.expires_at is not None:
        title = f"{title}, {say('story.until', date=day(parse_time(event.expires_at.encode())))}"
    return _Said(title, "Onward", "key", options=event.options)


def _none(event: NoRecourse) -> _Said:
    owners = [text for text in (event.scores, event.advice) if text is not UNSET]
    lines = [event.detail, *(say("story.advice", advice=text) for text in owners)]
    return _Said(say("story.none"), "Onward", "key", [line for line in lines if line])


def _answered(event: Answer) -> _Said:
    who = say("who.applicant")
    if event.question is not UNSET:
        return _Said(say("story.answered", number=event.question, option=event.option or "none"), who)
    if event.option is None:
        return _Said(say("story.picked_none"), who)
    return _Said(say("story.picked", option=event.option), who)


def _acted(event: Acted) -> _Said:
    return _Said(say("story.acted"), lines=_by_way(event.option))


def _outcome(event: Outcome) -> _Said:
    return _Said(say(f"story.{event.result}"), lines=_by_way(event.option))


def _by_way(option: str | None) -> Sequence[str]:
    return () if option is None else (say("story.by_way", option=option),)


def _fate(event: Reward) -> _Said:
    if event.fate == "rewarded":
        name = "counted_improved" if event.reward else "counted_not"
    else:
        name = {"unseen": "unseen_fate"}.get(event.fate, event.fate)
    return _Said(say(f"story.{name}"), "Onward", lines=_by_way(event.option))


def _promise_ended(event: PromiseChange) -> _Said:
    options = event.options if isinstance(event.options, tuple) else ()
    lines = [] if event.reason is UNSET else [say(f"reason.{event.reason}")]
    if event.replaced:
        lines.append(say("story.replaced", options=", ".join(event.replaced)))
    if event.by is not None:
        lines.append(say("story.by", by=event.by))
    title = say(f"story.promise_{event.status}", n=max(1, len(options)), options=", ".join(options))
    return _Said(title, "Onward", "turn" if event.status == "broken" else "key", lines)


def _refused(event: DeadLetter) -> _Said:
    return _Said(say("story.refused", topic=event.topic), "Onward", "turn", [f"{event.reason}: {event.detail}"])


def _move(change: Change, texts: LanguageTexts, is_hidden: bool) -> str:
    parts = texts.told(change)
    if is_hidden:
        return f"{parts.name}: {HIDDEN}"
    return f"{parts.name}: {parts.to if parts.now is None else f'{parts.now} → {parts.to}'}"


_SAYS: Mapping[type[Struct], Callable[[Any], _Said]] = {
    Application: _applied,
    Decision: _decided,
    ModelDecision: _model_decided,
    Question: _asked,
    Recourse: _told,
    NoRecourse: _none,
    Answer: _answered,
    Acted: _acted,
    Outcome: _outcome,
    Reward: _fate,
    PromiseChange: _promise_ended,
    DeadLetter: _refused,
}
