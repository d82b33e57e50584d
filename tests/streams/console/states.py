"""Made-up events that bring a case into each state of its page, and the records that hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from onward.schemas.events import (
    Answer,
    Application,
    Change,
    DeadLetter,
    Decision,
    Journaled,
    ModelDecision,
    NoRecourse,
    Option,
    Outcome,
    PromiseChange,
    Question,
    Recourse,
    Reward,
    Step,
)
from onward.schemas.headers import cloud_event_headers, format_time
from onward.schemas.kinds import kinds
from onward.schemas.spec import ProgramSpec
from onward.streams.journal.lines import pack_lines
from onward.streams.records import Record
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS
from onward.tests.support.applicant_texts import changes_of

DAY_MS = 86_400_000
NAME = "a"
FAR = 1_000_000
"""An offset that no other event has."""
CASE: dict[str, Any] = {"program": "loan", "shard": 0, "application": NAME}
ANSWER: dict[str, Any] = {**CASE, "step": 0, "policy": "residual", "policy_version": "1", "spec": "s", "model": "m"}
SAVE = Change("savings", 1700, 7200, "EUR")
OWE = Change("card_utilisation", 54, 24, "%")
EARN = Change("monthly_income", 2640, 3190, "EUR", current_given=False)
LEARN = Change("education", "secondary", "bachelor")
TERM = Change("loan_term", 24, 48, "months", at_most=60)
BROKEN = PromiseChange(**CASE, status="broken", options=("2",), reason="model", replaced=("2",))
LATE = DeadLetter("question_closed", "it was to be answered before", "answers", 0, 7, 5, None, b"{}", ())
CLOSED = replace(LATE, reason="recourse_closed", offset=8)
EXPIRES = format_time(START_MS + 90 * DAY_MS)
States = Mapping[str, tuple[str, list[Any]]]
"""By its name a state, as ``/you.json`` calls it, and the events that lead to it, which are a day apart."""


def option(id: str, *changes: Change, **more: Any) -> Option:
    return Option(id, changes, 0.2, 0.9, 1.0, id, **more)


def told(*options: Option, **more: Any) -> Recourse:
    return Recourse(**ANSWER, options=options, **more)


class _Said(NamedTuple):
    """What is said of the changes of a program: two of them first, a new model's instead of the second, and others."""

    first: Change
    second: Change
    revised: Change
    others: Sequence[Change]

    @property
    def applied(self) -> Application:
        return Application("loan", NAME, {self.first.feature: self.first.current})

    @property
    def two(self) -> Recourse:
        return told(option("1", self.first, self.second), option("2", *self.others))

    @property
    def opened(self) -> Recourse:
        held = {"promise": {"radius": 0.1}, "status": "open"}
        return told(option("1", self.first, **held), option("2", self.second, **held), expires_at=EXPIRES)

    @property
    def in_order(self) -> Option:
        steps = (Step(one.feature, one.current, one.target, one.unit) for one in (self.first, self.second))
        return option("1", self.first, self.second, steps=tuple(steps))

    def asked(self, *plans: Option) -> Question:
        return Question(**CASE, number=1, options=plans, expires_at=EXPIRES, spec="s", model="m")


def states(first: Change, second: Change, revised: Change, others: Sequence[Change]) -> States:
    """Every state of a page. A new model asks for ``revised`` instead of ``second``."""
    said = _Said(first, second, revised, others)
    return {**_early(said), **_with_ways(said), **_late(said)}


def _early(said: _Said) -> States:
    applied = said.applied
    asked = said.asked(option("1", said.first), option("2", said.second))
    in_order = said.asked(said.in_order, option("2", said.second))
    return {
        "waits": ("waits", [applied]),
        "anew": ("waits", [applied, said.two, Reward(**CASE, fate="censored"), applied]),
        "approved": ("approved", [applied, Decision("loan", NAME, True)]),
        "place": ("approved", [applied, ModelDecision(**CASE, approved=True, model="m", spec="s", round=3)]),
        "came back with it": (
            "approved",
            [applied, Decision("loan", NAME, True), replace(BROKEN, application="earlier", status="kept", by=NAME)],
        ),
        "question": ("question", [applied, asked]),
        "question in order": ("question", [applied, in_order]),
        "rejected": ("waits", [applied, Decision("loan", NAME, False)]),
        "working": ("working", [applied, asked, Answer("loan", NAME, "1", 1)]),
        "refused": ("ways", [applied, asked, said.two, LATE]),
    }


def _with_ways(said: _Said) -> States:
    applied, two, opened = said.applied, said.two, said.opened
    revised = told(option("2", said.revised), expires_at=EXPIRES, revision=1)
    place = replace(two, round=3, expires_at=EXPIRES)
    better = Outcome("loan", NAME, "improved", "1"), Reward(**CASE, fate="rewarded")
    no_better = Outcome("loan", NAME, "not_improved", "1"), Reward(**CASE, fate="rewarded", reward=0.0)
    return {
        "ways": ("ways", [applied, two]),
        "one": ("ways", [applied, told(option("1", said.first))]),
        "steps": ("ways", [applied, told(said.in_order)]),
        "follows": ("ways", [applied, told(option("1", said.second, follows=(said.first,)))]),
        "open": ("ways", [applied, opened]),
        "chosen": ("ways", [applied, opened, Answer("loan", NAME, "2")]),
        "none works": ("ways", [applied, two, Answer("loan", NAME, "1"), Answer("loan", NAME, None)]),
        "changed": ("ways", [applied, opened, BROKEN, revised]),
        "one gone": ("ways", [applied, opened, BROKEN]),
        "places": ("ways", [applied, place]),
        "round promised longer": ("ways", [applied, place, Reward(**CASE, fate="censored")]),
        "promised longer": ("ways", [applied, opened, Reward(**CASE, fate="censored")]),
        "window over": ("ways", [applied, two, Reward(**CASE, fate="censored")]),
        "unseen": ("ways", [applied, two, Outcome("loan", NAME, "unseen"), Reward(**CASE, fate="unseen")]),
        "better off, promised": ("ways", [applied, opened, *better]),
        "chosen too late": ("ways", [applied, opened, Reward(**CASE, fate="censored"), CLOSED]),
        "no better off, promised": ("ways", [applied, opened, *no_better]),
    }


def _late(said: _Said) -> States:
    applied, two, opened = said.applied, said.two, said.opened
    again = NoRecourse(**ANSWER, reason="apply_again", detail="Apply again as you are.", round=3, expires_at=EXPIRES)
    superseded = PromiseChange(**CASE, status="superseded", options=("1", "2"), by="b")
    improved = Outcome("loan", NAME, "improved", "1"), Reward(**CASE, fate="rewarded")
    expired = PromiseChange(**CASE, status="expired", settled_in=5)
    return {
        "all gone": ("none", [applied, opened, replace(BROKEN, options=("1", "2"))]),
        "apply again": ("apply_again", [applied, again]),
        "apply again, promised longer": ("apply_again", [applied, again, Reward(**CASE, fate="censored")]),
        "none": (
            "none",
            [applied, NoRecourse(**ANSWER, reason="out_of_reach", detail="We found none that is enough.")],
        ),
        "again": ("again", [applied, opened, superseded]),
        "round over": ("ended", [applied, replace(two, round=3), expired]),
        "thanks": ("ended", [applied, two, *improved]),
    }


STATES = states(SAVE, OWE, replace(OWE, target=18), (EARN, LEARN, TERM))
"""Those of the packaged loan program."""
TWO: Recourse = STATES["ways"][1][1]


def states_of(spec: ProgramSpec) -> States:
    """Those of a program, with changes of its own features."""
    changes = [[*changes_of(feature)] for feature in spec.features if feature.may_change]
    plain, ends, not_given = zip(*(of_feature[:3] for of_feature in changes), strict=True)
    revised = replace(plain[1], target=ends[1].at_most)
    return states(plain[0], plain[1], revised, (not_given[2], ends[3], plain[4]))


def records(stories: Mapping[tuple[str, str], Sequence[Any]], topics: Topics) -> Iterator[Record]:
    """The records of the journal and the outputs that hold events of cases, by program and application."""
    offsets: defaultdict[str, int] = defaultdict(int)
    lines = []
    for (program, name), events in stories.items():
        for place, event in enumerate(events):
            event, time_ms = _of(event, program, name), START_MS + DAY_MS * place
            kind, id = kinds.by_struct[type(event)], f"{program}-{name}-{place}"
            topic = topics.topic_of(kind)
            at, offsets[topic] = offsets[topic], offsets[topic] + 1
            if topic in topics.inputs:
                line = Journaled(kind.ce_type, id, time_ms, time_ms, Raw(json.encode(event)), topic, 0, at, "test")
                lines.append(line)
            else:
                headers = cloud_event_headers(id, "onward", kind.ce_type, time_ms)
                yield Record(topic, 0, at, time_ms, name.encode(), json.encode(event), tuple(headers))
    for at, packed in enumerate(pack_lines(topics.journal, 0, lines)):
        yield packed.appended(at)


def _of(event: Any, program: str, name: str) -> Struct:
    """An event of another case; of another person's one, that of somebody else."""
    if isinstance(event, DeadLetter):
        return replace(event, offset=event.offset + FAR, value=json.encode(Answer(program, name, "1")))
    named = {"application": name} if event.application == NAME else {}
    by = {"by": name} if getattr(event, "by", None) == NAME else {}
    return replace(event, program=program, **named, **by)
