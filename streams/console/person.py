"""What an applicant reads: the state of their case, and their ways forward, in the words of the program.

    page = person_page(case.happenings, PageWords(spec, "en"))

Everything follows from the events about the latest application of the name. No column, score, probability or cost is
told, and no value as the person's own that they did not give.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal

from msgspec import UNSET, Struct, json, structs
from msgspec import field as renamed

from ...schemas.events import (
    APPLY_AGAIN,
    Answer,
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
from ...schemas.headers import parse_time
from ...schemas.kinds import kinds
from ...schemas.words.texts import NoWay
from ..engine.rewards.fates import CLOSED
from ..replay.happenings import Happening
from ..replay.history import since_latest
from .cases import AnnouncedModel
from .page_words import PageWords

PageState = Literal["waits", "approved", "question", "working", "ways", "none", "apply_again", "again", "ended"]

MOST_IN_HEADING = 3
"""Changes that a heading names; of more it says how many."""
TOO_LATE = frozenset(
    {
        "answer_changed",
        "answer_without_question",
        "answer_without_recourse",
        "nothing_offered",
        "question_closed",
        "recourse_closed",
        "unknown_option",
    }
)
"""Why an answer does not count: the time for it is over, what it answers has changed, or an earlier one counts."""


class PageChange(Struct, frozen=True):
    """A feature to change, from the person's own value, None where they did not give it, to the one to reach.

    ``before`` is what they were told to reach before that, ``notes`` are sentences that go with it.
    """

    name: str
    now: str | None = renamed(name="from")
    to: str
    before: str | None = None
    notes: tuple[str, ...] = ()


class PageWay(Struct, frozen=True):
    """A way forward, or a plan of a question."""

    id: str
    heading: str
    changes: tuple[PageChange, ...]
    steps: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    which: str = ""
    chosen: bool = False
    is_new: bool = False


class PageQuestion(Struct, frozen=True):
    """A question that the person may answer: its number, until when, and the plans."""

    number: int
    which: str
    until: str
    plans: tuple[PageWay, ...]


class PersonPage(Struct, frozen=True):
    """A page of an applicant. ``text``, ``notice`` and ``until`` are sentences; ``until_date`` is a day of UTC.

    ``may_choose`` says whether a choice still counts; the ways may work for longer.
    ``fingerprint`` tells the ways from others, in whatever language: who chooses, chooses among those that they saw.
    """

    state: PageState
    title: str
    text: tuple[str, ...]
    notice: tuple[str, ...] = ()
    ways: tuple[PageWay, ...] = ()
    question: PageQuestion | None = None
    picked_none: bool = False
    may_choose: bool = True
    until_date: str | None = None
    until: tuple[str, ...] = ()
    is_refused: bool = False
    fingerprint: str = ""


@dataclass
class _Told:
    """What a person has been told, as their events come one after the other."""

    application: str
    answer: Recourse | NoRecourse | None = None
    since_ms: int = 0
    """When the last answer or question came."""
    ways: dict[str, Option] = field(default_factory=dict)
    gone: dict[str, Option] = field(default_factory=dict)
    before: dict[str, Option] = field(default_factory=dict)
    """The options for which revised ones stand."""
    changed_ms: int | None = None
    question: Question | None = None
    is_answered: bool = False
    is_rejected: bool = False
    is_approved: bool = False
    has_place: bool = False
    picked: str | None = None
    picked_none: bool = False
    is_refused: bool = False
    closes_at: str | None = None
    """Until when a choice and an outcome count."""
    has_ended: bool = False
    came_back: bool = False
    said_how_it_went: bool = False
    is_over: bool = False
    """The time of what was told is over."""

    @property
    def is_promised(self) -> bool:
        """Whether what was told holds until a time of its own, in rounds or under later models."""
        is_there = bool(self.ways) or isinstance(self.answer, NoRecourse)
        return is_there and not self.is_over and bool(self.answer and self.answer.expires_at)

    def take(self, happening: Happening) -> None:
        """Take the next event into account."""
        event = happening.event
        if happening.refused or happening.repeated:
            return
        if isinstance(event, Recourse | NoRecourse | Question):
            self.since_ms = happening.time_ms
        match event:
            case Recourse():
                self._tell(event, happening.time_ms)
            case NoRecourse():
                self.answer, self.is_over = event, False
            case Question():
                self.question, self.is_answered = event, False
            case Answer():
                self._hear(event)
            case PromiseChange():
                self._end(event, happening.time_ms)
            case Decision() | ModelDecision():
                self.is_approved, self.is_rejected = event.approved, not event.approved
                self.has_place = event.approved and isinstance(event, ModelDecision) and event.round is not UNSET
            case Outcome():
                self.said_how_it_went = event.result != "unseen"
            case Reward():
                self.has_ended |= event.fate in CLOSED
            case DeadLetter():
                self.is_refused |= event.topic.endswith(str(kinds["answer"].topic)) and event.reason in TOO_LATE

    def _tell(self, recourse: Recourse, time_ms: int) -> None:
        if not recourse.is_revision:
            self.ways, self.gone, self.before, self.changed_ms = {}, {}, {}, None
            self.closes_at = recourse.closes_at
        for option in recourse.options:
            if recourse.is_revision:
                former = self.ways.get(option.id) or self.gone.get(option.id)
                self.changed_ms = time_ms
                if former is not None:
                    self.before[option.id] = former
                if option.id == self.picked or self.picked_none:
                    self.picked, self.picked_none = None, False  # they have not seen these figures
            self.gone.pop(option.id, None)
            self.ways[option.id] = option
        self.answer, self.is_over = recourse, False

    def _hear(self, answer: Answer) -> None:
        if answer.question is UNSET:
            self.picked, self.picked_none, self.is_refused = answer.option, answer.option is None, False
        elif self.question is not None and answer.question == self.question.number:
            self.is_answered, self.is_refused = True, False

    def _end(self, change: PromiseChange, time_ms: int) -> None:
        """The end of a promise, by a new model or since the person came back."""
        if change.application != self.application:
            return  # that of an earlier application, with which this one came back
        self.came_back |= change.by is not None
        self.is_over = change.status == "expired"
        if not isinstance(change.options, tuple):
            return
        for id in change.options:
            if id in self.ways:
                self.gone[id] = self.ways.pop(id)
        if change.status == "broken" and change.by is None:
            self.changed_ms = time_ms


def person_page(
    happenings: Sequence[Happening],
    words: PageWords,
    application: str,
    now_ms: int | None = None,
    model: AnnouncedModel | None = None,
) -> PersonPage:
    """What the person of an application reads after these events, which come by event time.

    What holds until a time is over once it is ``now_ms``; without one it is over when an event says so. Ways
    that another than the newest ``model`` has given may not be enough, unless they are promised.
    """
    told = _Told(application)
    for happening in since_latest(happenings):
        told.take(happening)
    return structs.replace(_page(told, words, now_ms, model), is_refused=told.is_refused)


def _page(told: _Told, words: PageWords, now_ms: int | None, model: AnnouncedModel | None) -> PersonPage:
    if told.came_back:
        return PersonPage("again", words.say("ended.title"), (words.say("ended.again"),))
    if told.is_approved:
        place = (words.say("approved.place"),) if told.has_place else ()
        return PersonPage("approved", words.say("approved.title"), (_applied(words, "approved.text"), *place))
    answer = told.answer
    # What was told works on, and may be promised for longer than an outcome counts.
    if told.has_ended and not told.is_promised and (told.said_how_it_went or not told.ways):
        last = "ended.thanks" if told.said_how_it_went else "ended.text"
        return PersonPage("ended", words.say("ended.title"), (words.say(last),))
    if answer is not None and (told.is_over or _is_past(answer.expires_at or None, now_ms)):
        return PersonPage("ended", words.say("ended.title"), (words.say("ended.text"),))
    if isinstance(answer, Recourse):
        if not told.ways:
            return _all_gone(told, words)
        return _ways(told, answer, words, model, may_choose=not told.has_ended and not _is_past(told.closes_at, now_ms))
    if isinstance(answer, NoRecourse):
        return _none(answer, words)
    if told.question is None and told.is_rejected:
        return PersonPage("waits", _applied(words, "none.lede"), (words.say("waits.ways"),))
    if told.question is None:
        return PersonPage("waits", words.say("waits.title"), (words.say("waits.text"),))
    if told.is_answered:
        return PersonPage("working", words.say("working.title"), (words.say("working.text"),))
    return _question(told.question, words, told.since_ms)


def _ways(
    told: _Told, answer: Recourse, words: PageWords, model: AnnouncedModel | None, *, may_choose: bool
) -> PersonPage:
    title, first = "ways.title", _applied(words, "ways.lede")
    is_round = isinstance(answer.round, int)
    if is_round:
        title, first = "places.title", words.say("places.lede")
    notice = _notice(told, words)
    if not answer.expires_at and model is not None and model.version != answer.model:
        notice = (words.say("changed.maybe", date=words.day(model.time_ms)),)
    if notice:
        title = "changed.title"
    lasts = answer.expires_at and words.last_day(answer.expires_at, told.since_ms)
    text = [first, words.say("ways.one", n=len(told.ways))]
    until = [words.say("places.sure")] if is_round else []
    if lasts:
        text.append(words.say("ways.by", date=lasts))
        if not is_round:
            until.append(words.say("until.promise", date=lasts))
    elif not is_round:
        until.append(words.say("until.open"))
    if not is_round and any(option.promise for option in told.ways.values()):
        until.append(words.say("until.certificate"))
    ways = tuple(_way(option, words, told, place) for place, option in enumerate(told.ways.values(), 1))
    return PersonPage(
        "ways",
        words.say(title),
        tuple(text),
        notice,
        ways,
        picked_none=told.picked_none,
        may_choose=may_choose,
        until_date=_last_whole_day(answer.expires_at),
        until=tuple(until),
        fingerprint=_fingerprint(told.ways),
    )


def _notice(told: _Told, words: PageWords) -> tuple[str, ...]:
    """What has changed since the ways were first told."""
    if told.changed_ms is None:
        return ()
    new = sum(id in told.before for id in told.ways)
    lines = [words.say("changed.lede", n=new, date=words.day(told.changed_ms))] if new else []
    if told.gone:
        lines.append(words.say("changed.gone", n=len(told.gone)))
    return (*lines, words.say("changed.done"))


def _all_gone(told: _Told, words: PageWords) -> PersonPage:
    """Nothing that was told works any more: a new model has taken it, or its time is over."""
    if told.changed_ms is None:
        return PersonPage("ended", words.say("ended.title"), (words.say("ended.text"),))
    return PersonPage("none", words.say("changed.title"), (_applied(words, "none.lede"),), _notice(told, words))


def _none(answer: NoRecourse, words: PageWords) -> PersonPage:
    """Nothing to change: because nothing would help, or because the person may come again as they are."""
    why = (answer.text or {}).get(words.tag) or _why_none(answer, words)
    if answer.reason == APPLY_AGAIN:
        title = "places.title" if isinstance(answer.round, int) else "ways.title"
        until_date = _last_whole_day(answer.expires_at or None)
        return PersonPage("apply_again", words.say(title), (why, words.say("places.sure")), until_date=until_date)
    return PersonPage("none", words.say("none.title"), (_applied(words, "none.lede"), why))


def _why_none(answer: NoRecourse, words: PageWords) -> str:
    """Why there is nothing, of an answer that came before the program had these words; without what came nearest."""
    terms = {name: value for name, value in structs.asdict(answer).items() if value is not UNSET}
    return words.texts.none(NoWay.from_terms(answer.reason, terms), is_spoken_for=True)


def _question(question: Question, words: PageWords, since_ms: int) -> PersonPage:
    until = words.say("question.until", date=words.last_day(question.expires_at, since_ms))
    plans = tuple(_way(option, words) for option in question.options)
    asked = PageQuestion(question.number, words.say("question.number", number=str(question.number)), until, plans)
    return PersonPage("question", words.say("question.title"), (words.say("question.lede"),), question=asked)


def _way(option: Option, words: PageWords, told: _Told | None = None, place: int = 0) -> PageWay:
    former = told.before.get(option.id) if told else None
    before = {change.feature: change for change in former.changes} if former else {}
    many = len(told.ways) if told else 0
    which = words.say("way.which", number=str(place), n=many) if many > 1 else words.say("way.only")
    steps = option.steps if option.steps and len(option.steps) > 1 else ()
    in_order = (_step(_change(step, words, before), words.texts.heading([step]), words) for step in steps)
    return PageWay(
        option.id,
        _heading(option, words),
        tuple(_change(change, words, before) for change in option.changes),
        tuple(in_order),
        tuple(words.texts.followed(one) for one in option.follows or () if one.feature in words.words.features),
        which if told else "",
        chosen=told is not None and told.picked == option.id,
        is_new=former is not None,
    )


def _heading(option: Option, words: PageWords) -> str:
    if len(option.changes) > MOST_IN_HEADING:
        return words.say("way.many", n=len(option.changes))
    return words.texts.heading(option.changes)


def _change(change: Change, words: PageWords, before: Mapping[str, Change]) -> PageChange:
    parts, former = words.texts.told(change), before.get(change.feature)
    is_other = former is not None and former.target != change.target
    said = words.texts.value(change.feature, former.target) if former is not None and is_other else None
    return PageChange(parts.name, parts.now, parts.to, said, tuple(parts.notes))


def _step(step: PageChange, verb: str, words: PageWords) -> str:
    move = words.say("change.to" if step.now is None else "change.from_to", now=step.now or "", to=step.to)
    before = [] if step.before is None else [words.say("way.before", value=step.before)]
    return " ".join([words.say("step", verb=verb, move=move), *before, *step.notes])


def _applied(words: PageWords, sentence: str) -> str:
    return words.say(sentence, applied=str(words.words.program.applied))


def _is_past(expires_at: str | None, now_ms: int | None) -> bool:
    return expires_at is not None and now_ms is not None and parse_time(expires_at.encode()) <= now_ms


def _fingerprint(ways: Mapping[str, Option]) -> str:
    seen = [(id, [(change.feature, change.target) for change in option.changes]) for id, option in ways.items()]
    return urlsafe_b64encode(sha256(json.encode(seen)).digest()[:9]).decode()


def _last_whole_day(expires_at: str | None) -> str | None:
    """The last whole day, of UTC, before a time: what ends as a day begins does not hold on it."""
    if expires_at is None:
        return None
    return (datetime.fromisoformat(expires_at).astimezone(UTC) - timedelta(days=1)).date().isoformat()
