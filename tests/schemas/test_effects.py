"""What follows from changes, as specs say it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from onward.schemas.effects import effects_of, idle_effects
from onward.schemas.spec import Effect, ProgramSpec
from onward.schemas.spec_document import document
from onward.schemas.specfile import parse_spec
from onward.streams.programs.spec_changes import changes

GOOD = """\
program: loan
features:
  - {name: income_3m, type: continuous, bounds: [0, 100], mutable: up}
  - {name: income_6m, type: continuous, bounds: [0, 100], mutable: up}
  - {name: savings, type: integer, bounds: [0, 100]}
  - {name: hours-per-week, type: integer, bounds: [0, 80]}
  - {name: age, type: integer, bounds: [18, 99], mutable: none, protected: true}
  - {name: school, type: ordinal, levels: [none, basic, high]}
  - {name: ratio, type: continuous, bounds: [0, 9], mutable: none}
  - {name: late, type: integer, bounds: [0, 1], mutable: none}
label: {name: repaid}
model: {manifest: model/manifest.json}
effects:
  - [income_3m, savings]
  - {from: income_3m, to: income_6m, slope: 1.0, deviation: 0.1}
computed:
  ratio: savings / income_6m
  late: "'hours-per-week' < 20"
"""


def spec(text: str = GOOD) -> ProgramSpec:
    found = parse_spec(text.encode())
    assert isinstance(found, ProgramSpec), found
    return found


def problems(old: str, new: str) -> list[tuple[int, str, str]]:
    assert GOOD.count(old) == 1
    found = parse_spec(GOOD.replace(old, new).encode())
    assert isinstance(found, list), "no problem was found"
    return [(problem.line, problem.path, problem.message) for problem in found]


def test_an_effect_is_two_names_or_what_is_known_of_it():
    assert effects_of(spec()) == (Effect("income_3m", "savings"), Effect("income_3m", "income_6m", 1.0, 0.1))


PAIR, KNOWN = "[income_3m, savings]", "{from: income_3m, to: income_6m, slope: 1.0, deviation: 0.1}"
RATIO, LATE = "ratio: savings / income_6m", "late: \"'hours-per-week' < 20\""


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "message"),
    [
        (PAIR, "[income_3, savings]", 14, "effects[0][0]", "'income_3' is not a feature (did you mean income_3m?)"),
        ("to: income_6m", "to: income", 15, "effects[1].to", "'income' is not a feature"),
        (PAIR, "[savings, savings]", 14, "effects[0]", "savings follows itself"),
        (PAIR, "[income_3m, income_6m]", 15, "effects[1]", "income_6m follows income_3m twice"),
        (PAIR, "[income_6m, income_3m]", 14, "effects", "income_6m -> income_3m -> income_6m goes round in a circle"),
        (PAIR, "[savings, age]", 14, "effects[0][1]", "age is protected: nothing may change it"),
        (PAIR, "[ratio, savings]", 14, "effects", "ratio -> savings -> ratio goes round in a circle"),
        (PAIR, "[savings, ratio]", 14, "effects[0][1]", "ratio is computed: it follows from what `computed` says"),
        (PAIR, "[school, savings]", 14, "effects[0][0]", "school is ordinal: only continuous and integer"),
        (PAIR, "{from: income_3m, to: savings, at_bounds: halt}", 14, "effects[0].at_bounds", "halt"),
        (PAIR, "{from: income_3m, to: savings, at_bounds: stop}\n  - [income_6m, savings]", 15, "effects[1]",
         "savings stops at its bounds by all of its effects, or by none"),
        (PAIR, "[savings]", 14, "effects[0]", ""),
        (PAIR, "{from: savings}", 14, "effects[0]", ""),
        ("slope: 1.0", "slope: 0", 15, "effects[1].slope", "must be a finite number other than 0"),
        ("slope: 1.0", "slope: .inf", 15, "effects[1].slope", "must be a finite number"),
        ("deviation: 0.1", "deviation: .nan", 15, "effects[1].deviation", ""),
        ("deviation: 0.1", "deviation: -1", 15, "effects[1].deviation", ""),
        ("{name: savings, type: integer, bounds: [0, 100]}",
         "{name: savings, type: integer, bounds: [0, 100], mutable: none}", 14, "effects[0][1]",
         "savings has `mutable: none`: nothing can change it"),
        ("name: age, type: integer, bounds: [18, 99], mutable: none, protected: true",
         "name: age, type: integer, bounds: [18, 99], mutable: follows", 7, "features[4].mutable",
         "no effect leads to age: nothing says what it follows"),
        ("bounds: [0, 9], mutable: none", "bounds: [0, 9]", 17, "computed.ratio",
         "ratio follows from others, so nobody changes it themselves: write `mutable: none`"),
        ("bounds: [0, 9], mutable: none", "bounds: [0, 9], mutable: none, protected: true", 17, "computed.ratio",
         "ratio is protected"),
        (RATIO, "ratios: savings / income_6m", 17, "computed.ratios", "'ratios' is not a feature (did you mean"),
        (RATIO, "ratio: savings / income_6", 17, "computed.ratio", "'income_6' is not a feature (did you mean"),
        (RATIO, "ratio: savings / school", 17, "computed.ratio", "school is ordinal: only continuous and integer"),
        (RATIO, "ratio: savings / ratio", 17, "computed.ratio", "ratio is computed from itself"),
        (RATIO, "ratio: savings % 5", 17, "computed.ratio", "is not understood"),
        (RATIO, "ratio: 5", 17, "computed.ratio", ""),
        (LATE, "late: ratio > 1\n  ratio_: late", 19, "computed.ratio_", "is not a feature"),
    ],
)  # fmt: skip
def test_what_cannot_follow_is_refused_at_its_line(old: str, new: str, line: int, path: str, message: str) -> None:
    found = problems(old, new)
    assert [(where, at) for where, at, _ in found] == [(line, path)], found
    assert message in found[0][2]


def test_computed_features_may_follow_from_each_other_but_not_in_a_circle():
    spec(GOOD.replace(LATE, "late: ratio > 1"))
    found = parse_spec(GOOD.replace(LATE, "late: ratio > 1").replace(RATIO, "ratio: savings / late").encode())
    assert isinstance(found, list)
    assert [problem.message.split(" goes")[0] for problem in found] == ["late -> ratio -> late"]


def test_a_parent_that_nobody_can_change_is_no_error_and_is_named():
    asked = spec(GOOD.replace(PAIR, "[age, savings]"))
    assert list(idle_effects(asked)) == ["age: nobody can change it, so nothing ever follows for savings"]
    assert list(idle_effects(spec())) == []
    assert list(idle_effects(spec(GOOD.replace(PAIR, "[late, savings]")))) == []


def test_a_running_program_may_take_other_effects():
    old = spec()
    new = replace(old, effects=(("income_3m", "income_6m"),), computed={"ratio": "savings / income_3m"})
    found = changes(old, new, trained={})
    assert sorted(change.path for change in found) == ["computed.late", "computed.ratio", "effects"]
    assert {change.refusal for change in found} == {None}


def test_a_child_that_stops_is_said_and_one_that_does_not_has_the_bytes_that_it_had():
    stops = spec(GOOD.replace("deviation: 0.1}", "deviation: 0.1, at_bounds: stop}"))
    refuses = spec(GOOD.replace("deviation: 0.1}", "deviation: 0.1, at_bounds: refuse}"))
    assert [effect.stops for effect in effects_of(stops)] == [False, True]
    assert document(refuses) == document(spec())
    assert b'"at_bounds":"stop"' in document(stops)
    assert msgspec.json.encode(refuses) == msgspec.json.encode(spec())


@pytest.mark.parametrize("promise", ["none", "lp"])
def test_where_options_are_promised_nobody_moves_the_bounds_at_which_what_follows_stops(promise):
    old = spec(GOOD.replace("deviation: 0.1}", "deviation: 0.1, at_bounds: stop}"))
    old = replace(old, promise=replace(old.promise, kind=promise))
    wide = {feature.name: feature.bounds for feature in old.features if feature.bounds}
    for name in ("income_3m", "income_6m"):
        features = [replace(each, bounds=(0.0, 50.0)) if each.name == name else each for each in old.features]
        [change] = changes(old, replace(old, features=tuple(features)), wide)
        assert (change.refusal is not None) is (name == "income_6m" and promise == "lp")


def test_a_spec_without_effects_has_the_bytes_that_it_had():
    assert b"effects" not in document(replace(spec(), effects=(), computed={}))
    assert b"computed" not in document(replace(spec(), effects=(), computed={}))
    assert msgspec.json.decode(document(spec()))["computed"] == spec().computed


def test_a_spec_whose_features_only_follow_lets_nobody_change_anything():
    text = GOOD.replace("bounds: [0, 100], mutable: up", "bounds: [0, 100], mutable: follows")
    text = text.replace(
        "  - {name: savings, type: integer, bounds: [0, 100]}",
        "  - {name: savings, type: integer, bounds: [0, 100], mutable: follows}",
    )
    text = text.replace("bounds: [0, 80]}", "bounds: [0, 80], mutable: none}")
    text = text.replace("levels: [none, basic, high]}", "levels: [none, basic, high], mutable: none}")
    text = text.replace("computed:", "  - [hours-per-week, income_3m]\ncomputed:")
    found = parse_spec(text.encode())
    assert isinstance(found, list)
    assert [problem.message.split(":")[0] for problem in found] == ["no feature is mutable"]


def test_what_is_computed_may_be_said_to_follow():
    text = GOOD.replace("bounds: [0, 9], mutable: none", "bounds: [0, 9], mutable: follows")
    assert not next(each for each in spec(text).features if each.name == "ratio").may_change
