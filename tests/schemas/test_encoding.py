import json
import math
import struct
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.schemas.encoding import FeatureCodec, Problem
from onward.schemas.spec import Constraints, Feature, Label, ModelReference, ProgramSpec
from onward.schemas.spec_rules import violations

UNFILLED = "and the spec has no `missing` for it"
REASONS = {"missing_feature", "unknown_feature", "wrong_type", "unknown_category", "not_finite", "out_of_bounds"}


def program(*features: Feature, **others: object) -> ProgramSpec:
    return msgspec.convert(
        {"program": "p", "features": features, "label": Label("y"), "model": ModelReference("m"), **others}, ProgramSpec
    )


MIXED = program(
    Feature("income", "continuous", bounds=(-20.0, 300.5)),
    Feature("region", "categorical", categories=("north", "south", "west"), pii=True),
    Feature("debts", "integer", bounds=(2.0, 12.0)),
    Feature("school", "ordinal", levels=("none", "basic", "high")),
    Feature("age", "integer", bounds=(0.0, 2.0**53), pii=True),
)
CODEC = FeatureCodec(MIXED)
(SIGNALLING_NAN,) = struct.unpack("<d", (0x7FF0000000000001).to_bytes(8, "little"))
GOOD = {"income": 10.25, "region": "south", "debts": 7, "school": "basic", "age": 40}


def any_value(feature: Feature) -> st.SearchStrategy[object]:
    if feature.bounds is None:
        return st.sampled_from(feature.levels or feature.categories)
    low, high = feature.bounds
    if feature.type == "continuous":
        within = st.sampled_from([whole for whole in range(-20, 301) if low <= whole <= high] or [low, high])
        return st.floats(low, high) | within
    whole = st.integers(int(low), int(high))
    return whole | whole.map(float)


def rows(spec: ProgramSpec) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({feature.name: any_value(feature) for feature in spec.features})


def plain_encoding(spec: ProgramSpec, row: dict[str, object]) -> list[float]:
    """The encoding by its definition, one feature at a time."""
    vector: list[float] = []
    for feature in spec.features:
        value = row[feature.name]
        if feature.bounds:
            vector.append((float(value) - feature.bounds[0]) / (feature.bounds[1] - feature.bounds[0]))
        elif feature.levels:
            vector.append(feature.levels.index(value) / (len(feature.levels) - 1))
        else:
            vector += [float(value == category) for category in feature.categories]
    return vector


def changed(row: dict[str, object], key: str, value: object) -> dict[str, object]:
    return {**row, key: value}


GARBAGE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(10**400)
    | st.just(-(2**63)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
NAMES = st.sampled_from([*GOOD, "incom", ""])


@st.composite
def doubtful(draw: st.DrawFn) -> dict[str, object]:
    """A good row, or one with one value changed, one feature missing or one added."""
    row = draw(rows(MIXED))
    kind = draw(st.sampled_from(["good", "change", "drop", "rename", "only garbage"]))
    if kind == "change":
        row[draw(NAMES)] = draw(GARBAGE)
    elif kind == "drop":
        del row[draw(st.sampled_from(sorted(row)))]
    elif kind == "rename":
        row[draw(st.text(max_size=3))] = row.pop(draw(st.sampled_from(sorted(row))))
    elif kind == "only garbage":
        row = draw(st.dictionaries(NAMES, GARBAGE, max_size=6))
    return row


def test_the_layout_of_the_columns():
    assert CODEC.columns == ("income", "region:north", "region:south", "region:west", "debts", "school", "age")
    assert CODEC.dimension == 7
    assert CODEC.feature_of.tolist() == [0, 1, 1, 1, 2, 3, 4]
    assert CODEC.scale.tolist() == [320.5, 1, 1, 1, 10, 2, 2**53]
    named = FeatureCodec(program(Feature("a", "categorical", categories=("x", "y"), one_hot=("ax", "ay"))))
    assert named.columns == ("ax", "ay")


@given(rows(MIXED))
def test_a_good_row_encodes_to_its_definition_within_0_and_1(row):
    assert CODEC.check(row) is None
    (vector,) = CODEC.encode_many([row])
    assert vector.tolist() == plain_encoding(MIXED, row)
    assert ((vector >= 0) & (vector <= 1)).all()


@given(st.lists(rows(MIXED), max_size=8))
def test_a_row_encodes_the_same_beside_any_other_rows(batch):
    encoded = CODEC.encode_many(batch)
    assert encoded.shape == (len(batch), CODEC.dimension)
    alone = [CODEC.encode_many([row]).tobytes() for row in batch]
    assert [vector.tobytes() for vector in encoded] == alone


@settings(max_examples=60)
@given(doubtful())
def test_reading_json_agrees_with_the_check_of_its_values(row):
    problem = CODEC.check(row)
    assert problem is None or problem.reason in REASONS
    try:
        data = msgspec.json.encode(row)
    except (TypeError, OverflowError, UnicodeEncodeError):
        return
    values = CODEC.read(data)
    assert isinstance(values, Problem) == (problem is not None)
    if not isinstance(values, Problem):
        assert values == tuple(row[feature.name] for feature in CODEC.spec.features)
        assert CODEC.encode_read([values]).tobytes() == CODEC.encode_many([row]).tobytes()


@pytest.mark.parametrize(
    "features",
    [
        [Feature("a", "integer", bounds=(0.0, 4.0))],
        [Feature("a", "ordinal", levels=("x", "y"))],
        [Feature("a", "categorical", categories=("x", "y")), Feature("b", "ordinal", levels=("x", "y", "z"))],
        [Feature(f"f{i}", "continuous", bounds=(0.1, 0.3 + i)) for i in range(5)],
    ],
)
@settings(max_examples=20)
@given(data=st.data())
def test_programs_of_one_kind_of_feature_encode_to_their_definition(features, data):
    spec = program(*features)
    batch = data.draw(st.lists(rows(spec), max_size=4))
    expected = [plain_encoding(spec, row) for row in batch]
    assert FeatureCodec(spec).encode_many(batch).tolist() == expected


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, Problem("missing_feature", "income: missing")),
        ({**GOOD, "x": 1}, Problem("unknown_feature", "'x': not a feature of program p")),
        (changed(GOOD, "income", True), Problem("wrong_type", "income: must be a number, not a boolean")),
        (changed(GOOD, "income", "9"), Problem("wrong_type", "income: must be a number, not text")),
        (changed(GOOD, "income", math.nan), Problem("not_finite", "income: must be a finite number")),
        (changed(GOOD, "income", -math.inf), Problem("not_finite", "income: must be a finite number")),
        (changed(GOOD, "debts", SIGNALLING_NAN), Problem("not_finite", "debts: must be a finite number")),
        (changed(GOOD, "income", 301), Problem("out_of_bounds", "income: 301 is outside -20 to 300.5")),
        (
            changed(GOOD, "income", 10**400),
            Problem("out_of_bounds", "income: a number of 1329 bits is outside -20 to 300.5"),
        ),
        (changed(GOOD, "debts", 3.5), Problem("wrong_type", "debts: 3.5 is not a whole number")),
        (changed(GOOD, "age", 2**53 + 1), Problem("out_of_bounds", f"age: the value is outside 0 to {2.0**53!r}")),
        (
            changed(GOOD, "school", "phd"),
            Problem("unknown_category", "school: 'phd' is not one of 'none', 'basic', 'high'"),
        ),
        (
            changed(GOOD, "school", 1),
            Problem("wrong_type", "school: must be one of the levels 'none', 'basic', 'high', not a number"),
        ),
    ],
)
def test_a_problem_names_the_feature_and_what_is_allowed(row, problem):
    assert CODEC.check(row) == problem


READ = {"income": "10.25", "region": '"south"', "debts": "7", "school": '"basic"', "age": "40"}


@pytest.mark.parametrize(
    ("replaced", "problem"),
    [
        ({"income": "null"}, Problem("missing_feature", f"income: no value is given, {UNFILLED}")),
        ({"income": '"NA"'}, Problem("missing_feature", f"income: 'NA' stands for no value, {UNFILLED}")),
        ({"school": '"Unknown"'}, Problem("missing_feature", f"school: 'Unknown' stands for no value, {UNFILLED}")),
        ({"income": "true"}, Problem("wrong_type", "income: must be a number, not a boolean")),
        ({"debts": "[7]"}, Problem("wrong_type", "debts: must be a number, not an array")),
        (
            {"school": "{}"},
            Problem("wrong_type", "school: must be one of the levels 'none', 'basic', 'high', not an object"),
        ),
        ({"shoe": "null"}, Problem("unknown_feature", "'shoe': not a feature of program p")),
        ({"debts": "1e999"}, Problem("wrong_type", "features: Number out of range - at `$.debts`")),
        (
            {"income": "[" * 100_000 + "]" * 100_000},
            Problem("wrong_type", "features: Expected `int | float`, got `array` - at `$.income`"),
        ),
    ],
    ids=lambda found: found.reason if isinstance(found, Problem) else "".join(found),
)
def test_a_json_value_of_a_wrong_type_is_named_by_its_feature(replaced, problem):
    written = ", ".join(f'"{name}": {value}' for name, value in {**READ, **replaced}.items())
    assert CODEC.read(f"{{{written}}}".encode()) == problem


def test_features_must_be_a_json_object():
    assert CODEC.read(b"[1]") == Problem("wrong_type", "features: Expected `object`, got `array`")
    assert CODEC.read(b'{"income": "\xff"}').reason == "malformed_json"


@given(st.sampled_from(["region", "age"]), st.integers(10**17, 10**18), st.sampled_from([int, float, str]))
def test_no_detail_holds_the_value_of_a_personal_feature(name, number, kind):
    problem = CODEC.check(changed(GOOD, name, kind(number)))
    assert problem is not None
    assert str(kind(number)) not in problem.detail


def test_cross_feature_constraints_are_named():
    rules = [{"if": {"feature": "school", "equals": "high"}, "then": {"feature": "income", "at_least": 5.0}}]
    rules.append({"if": {"feature": "income", "at_most": 5.0}, "then": {"feature": "region", "equals": "north"}})
    constraints = msgspec.convert({"le": [("debts", "age")], "rules": rules}, Constraints)
    codec = FeatureCodec(msgspec.structs.replace(MIXED, constraints=constraints))
    assert codec.violated_constraint(GOOD) is None
    assert codec.violated_constraint({**GOOD, "age": 7}) is None
    assert codec.violated_constraint({**GOOD, "age": 6}) == "le: debts <= age"
    assert codec.violated_constraint({**GOOD, "school": "high", "income": 4.9, "region": "north"}) == "rule 1"
    assert codec.broken_constraints([GOOD, {**GOOD, "age": 6}, {**GOOD, "age": 6}]) == {"le: debts <= age": 2}
    assert codec.violated_constraint({**GOOD, "income": 5}) == "rule 2"
    assert codec.violated_constraint({**GOOD, "school": "high", "income": 5, "region": "north"}) is None


FILLED = FeatureCodec(
    program(
        *(
            msgspec.structs.replace(feature, missing=value)
            for feature, value in zip(MIXED.features, [0.5, "west", 3, "none", None], strict=True)
        )
    )
)


@given(rows(MIXED), st.sets(st.sampled_from(list(GOOD)[:4])), st.sampled_from(["absent", "null"]))
def test_a_feature_that_is_missing_is_read_as_the_value_that_the_spec_gives(row, gone, how):
    given = {name: value for name, value in row.items() if name not in gone}
    given |= dict.fromkeys(gone) if how == "null" else {}
    expected = {**row, **{name: FILLED.spec.features[list(GOOD).index(name)].missing for name in gone}}
    assert FILLED.check(given) is None
    assert FILLED.read(msgspec.json.encode(given)) == tuple(expected[name] for name in GOOD)
    assert FILLED.encode_many([given]).tolist() == FILLED.encode_many([expected]).tolist()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"income": 1}, Problem("missing_feature", "age: missing")),
        ({"age": None}, Problem("missing_feature", f"age: no value is given, {UNFILLED}")),
        ({"age": 1, "debts": 1}, Problem("out_of_bounds", "debts: 1 is outside 2 to 12")),
    ],
)
def test_a_feature_without_such_a_value_is_still_needed_and_the_others_are_checked(row, problem):
    assert FILLED.check(row) == problem
    assert FILLED.read(msgspec.json.encode(row)) == problem


@pytest.mark.parametrize("of_spec", ["NFC", "NFD"])
@pytest.mark.parametrize("of_event", ["NFC", "NFD"])
def test_letters_that_print_the_same_are_the_same_and_come_out_as_the_spec_spells_them(of_spec, of_event):
    name, category = (unicodedata.normalize(of_spec, text) for text in ("Région", "Nîmes"))
    spec = program(
        Feature(name, "categorical", categories=(category, "Paris")), Feature("age", "integer", bounds=(0.0, 99.0))
    )
    sent = unicodedata.normalize(of_event, json.dumps({"Région": "Nîmes", "age": 40.0}, ensure_ascii=False))
    assert FeatureCodec(spec).read(sent.encode()) == (category, 40.0)
    wrong = FeatureCodec(spec).read(sent.replace("40.0", "100").encode())
    assert isinstance(wrong, Problem)


def test_two_names_that_print_the_same_are_no_two_names() -> None:
    pair = tuple(unicodedata.normalize(form, "Nîmes") for form in ("NFC", "NFD"))
    messages = [message for _, message in violations(program(Feature("town", "categorical", categories=pair)))]
    assert any("given twice" in message for message in messages)


NARROW = msgspec.structs.replace(
    MIXED,
    features=tuple(
        msgspec.structs.replace(feature, bounds=(2.0, 5.0)) if feature.name == "debts" else feature
        for feature in MIXED.features
    ),
)
"""The spec with narrower bounds for debts."""
NARROWED = FeatureCodec(NARROW, {"debts": (2.0, 12.0)})


def test_narrower_bounds_leave_the_encoding_as_it_is():
    assert (NARROWED.encode_many([GOOD]) == CODEC.encode_many([GOOD])).all()
    assert NARROWED.codes(CODEC.encode_many([GOOD])).tolist() == CODEC.codes(CODEC.encode_many([GOOD])).tolist()


def test_what_narrower_bounds_refuse_can_still_be_read():
    sent = msgspec.json.encode({**GOOD, "debts": 6})
    assert NARROWED.read(sent) == CODEC.read(sent)
    assert NARROWED.outside(sent) == ("out_of_bounds", "debts: 6 is outside 2 to 5")
    assert NARROWED.outside(msgspec.json.encode({**GOOD, "debts": 5})) is None
    assert NARROWED.outside(b"{}") is None
    assert (NARROWED.is_narrowed, CODEC.is_narrowed, CODEC.outside(sent)) == (True, False, None)


def test_a_target_outside_narrower_bounds_keeps_no_rule():
    rows = CODEC.encode_many([{**GOOD, "debts": debts} for debts in (2, 5, 6)])
    assert CODEC.keep_rules(rows).tolist() == [True, True, True]
    assert NARROWED.keep_rules(rows).tolist() == [True, True, False]
