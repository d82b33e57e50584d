import re
from pathlib import Path

import msgspec
import pytest

from onward.schemas.draft.reminders import unlimited
from onward.schemas.events import (
    Acted,
    Answer,
    Application,
    DeadLetter,
    Decision,
    Erased,
    Erasure,
    Increment,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    Question,
    RawSpec,
    Recourse,
    Revalidation,
    Reward,
    Round,
    Spec,
    Threshold,
)
from onward.schemas.spec import Capacity, Condition, ElicitationTerms, Feature, ProgramSpec
from onward.schemas.spec_document import document, spec_of
from onward.schemas.spec_rules import violations
from onward.schemas.specfile import parse_spec

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = REFERENCE / "spec.md"


def test_the_examples_of_the_page_use_every_field():
    whole, with_rounds, asking = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    spec = parse_spec(whole.encode())
    assert isinstance(spec, ProgramSpec), spec
    used = set(re.findall(r"(\w+):", whole + with_rounds + asking))
    assert set(Capacity.__struct_fields__) | set(ElicitationTerms.__struct_fields__) <= used
    operators = {"equals", "at_least", "at_most"}
    assert set(Feature.__struct_fields__) | set(ProgramSpec.__struct_fields__) <= used
    assert operators <= set(Condition.__struct_fields__)
    assert operators & used
    assert not unlimited(spec)


def test_the_error_shown_on_the_page_is_what_the_check_says():
    spec = b"program: loan\nlabel: {name: y}\nmodel: {manifest: m}\nfeatures:\n  - {type: contnuous, name: a}\n"
    (problem,) = parse_spec(spec)
    assert f"loan.yaml:{problem.line}:{problem.column}: {problem.path}: {problem.message}" in PAGE.read_text()


EVENTS: list[type] = [
    Application,
    Decision,
    Outcome,
    Acted,
    Answer,
    Round,
    Erasure,
    Spec,
    Recourse,
    NoRecourse,
    Question,
    Reward,
    Erased,
    ModelDecision,
    Threshold,
    PromiseChange,
    PromiseChange,
    Revalidation,
    Increment,
    DeadLetter,
]
EITHER = {Erasure: {"application", "applicant"}}
"""The fields of which an event has one."""
SHOWN = re.findall(r"```json\n(.*?)```", (REFERENCE / "events.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EVENTS)), ids=[event.__name__ for event in EVENTS])
def test_the_events_of_the_page_have_every_field_and_no_other(number):
    event, shown = EVENTS[number], SHOWN[number]
    msgspec.json.decode(shown, type=event)
    # A field that is absent by default belongs to special programs: it need not be shown.
    fields = msgspec.structs.fields(event)
    always = {field.name for field in fields if field.default is not msgspec.UNSET}
    always -= EITHER.get(event, set())
    assert always <= msgspec.json.decode(shown).keys() - {"kind"} <= {field.name for field in fields}


def test_the_spec_of_the_page_is_the_document_of_one():
    event = msgspec.json.decode(SHOWN[EVENTS.index(Spec)], type=RawSpec)
    spec = spec_of(event.spec, "m")
    assert not list(violations(spec))
    assert msgspec.json.decode(document(spec)) == msgspec.json.decode(event.spec)


def test_the_page_shows_no_other_event():
    assert len(SHOWN) == len(EVENTS)
