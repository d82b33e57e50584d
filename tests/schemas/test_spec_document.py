"""The hash of a spec is that of its meaning."""

from random import Random

import msgspec
import pytest

from onward.schemas.spec import ProgramSpec
from onward.schemas.spec_document import document, sha256_of, spec_of
from onward.schemas.specfile import load_spec, parse_spec
from onward.tests.support.random_programs import any_spec

SPEC = """\
program: loan
features:
  - {name: income, type: continuous, bounds: [0, 100], missing: 3}
  - {name: debts, type: integer, bounds: [0, 10], mutable: down}
label: {name: repaid}
model: {manifest: model/manifest.json}
"""
SAME = {
    "a comment": ("program: loan", "# what it is for\nprogram: loan"),
    "the order of keys": ("type: integer, bounds: [0, 10]", "bounds: [0, 10], type: integer"),
    "the formatting": ("bounds: [0, 100]", "bounds:  [0.0, 1.0e+2]"),
    "a default": ("label: {name: repaid}", "label: {name: repaid, desired: 1.0}\npolicy: {window: {time: P90D}}"),
    "a value": ("missing: 3", "missing: 3.0"),
    "the duration's unit": ("label:", "retention: {closed: PT720H}\nlabel:"),
    "the model's address": ("model/manifest.json", "s3://models/loan/manifest.json"),
}
OTHERS = {
    "a bound": ("[0, 100]", "[0, 90]"),
    "a direction": ("mutable: down", "mutable: any"),
    "the label": ("repaid", "paid"),
    "a parameter": ("label:", "policy: {parameters: {focus: 2}}\nlabel:"),
    "an order": (
        "  - {name: income, type: continuous, bounds: [0, 100], missing: 3}\n",
        "  - {name: age, type: integer, bounds: [0, 9]}\n  - {name: income, type: continuous, bounds: [0, 100]}\n",
    ),
}


def parsed(text: str) -> ProgramSpec:
    spec = parse_spec(text.encode())
    assert isinstance(spec, ProgramSpec), spec
    return spec


@pytest.mark.parametrize("replaced", SAME.values(), ids=SAME)
def test_what_means_the_same_has_the_same_hash(replaced):
    assert SPEC.count(replaced[0]) == 1
    assert sha256_of(parsed(SPEC.replace(*replaced))) == sha256_of(parsed(SPEC))


@pytest.mark.parametrize("replaced", OTHERS.values(), ids=OTHERS)
def test_what_means_something_else_has_another_hash(replaced):
    assert SPEC.count(replaced[0]) == 1
    assert sha256_of(parsed(SPEC.replace(*replaced))) != sha256_of(parsed(SPEC))


@pytest.mark.parametrize("seed", range(30))
def test_a_document_gives_its_spec_back(seed):
    spec = any_spec(Random(seed))
    assert spec_of(document(spec), spec.model.manifest) == spec


def test_an_offset_that_is_refused_is_not_one_that_is_left_to_the_goal(tmp_path):
    rounds = "policy: {goal: capacity}\ncapacity: {places: 4, offset: false}\n"
    spec = parsed(SPEC + rounds)
    assert spec.capacity is not None
    assert spec_of(document(spec), "m").capacity == spec.capacity
    assert sha256_of(spec) != sha256_of(parsed(SPEC + rounds.replace(", offset: false", "")))


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"program": "loan", "model": 7}', b'{"news": 1}'])
def test_a_document_that_is_none_is_refused(data):
    with pytest.raises(msgspec.MsgspecError):
        spec_of(data, "m")


def test_a_comment_in_a_file_changes_no_hash(tmp_path):
    file = tmp_path / "loan.yaml"
    file.write_text(SPEC)
    before = load_spec(file)
    file.write_text(f"# a comment\n{SPEC}")
    assert load_spec(file).sha256 == before.sha256
