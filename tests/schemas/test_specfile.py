import re
from datetime import timedelta
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.benchmarks.arena.machine import fixed_work
from onward.schemas.spec import ProgramSpec, Window
from onward.schemas.spec_document import sha256_of
from onward.schemas.specfile import MAX_BYTES, MAX_PROBLEMS, SpecError, load_spec, parse_spec

SPECS = Path(__file__).parents[2] / "environments" / "specs"

GOOD = """\
program: loan
features:
  - {name: income, type: continuous, bounds: [0, 100], step: 1, unit: kEUR, mutable: up}
  - {name: debts, type: integer, bounds: [0, 10]}
  - {name: school, type: ordinal, levels: [none, basic, high]}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
constraints:
  max_changes: 2
  le: [[debts, income]]
  rules:
    - {if: {feature: school, equals: high}, then: {feature: income, at_least: 5}}
label: {name: repaid}
model: {manifest: model/manifest.json}
policy:
  window: {time: P90D, lateness: PT1M}
"""


def problems(old: str, new: str) -> list[tuple[int, str, str]]:
    assert GOOD.count(old) == 1
    found = parse_spec(GOOD.replace(old, new).encode())
    assert isinstance(found, list), "no problem was found"
    return [(problem.line, problem.path, problem.message) for problem in found]


def test_a_good_spec_loads_with_its_hash(tmp_path):
    file = tmp_path / "loan.yaml"
    file.write_text(GOOD)
    loaded = load_spec(file)
    assert loaded.sha256 == sha256_of(loaded.spec)
    assert loaded.path == file
    assert loaded.spec.policy.window.time == timedelta(days=90)
    assert loaded.spec.constraints.rules[0].if_.equals == "high"


def test_an_outcome_may_take_ninety_days_where_a_spec_does_not_say():
    spec = parse_spec(re.sub(r"(?m)^policy:\n(  .*\n)+", "", GOOD).encode())
    assert isinstance(spec, ProgramSpec)
    assert spec.policy.window == Window(time=timedelta(days=90))


# Each case: what to replace in GOOD, by what, and the (line, path, part of the message) of every problem.
CASES = [
    ("program: loan", "program: Loan!", [(1, "program", "a text of at most 63 lower-case letters")]),
    ("[0, 100]", "[100, 0]", [(3, "features[0].bounds", "lower bound 100 must be below")]),
    ("[0, 100]", "[0, .inf]", [(3, "features[0].bounds[1]", "finite")]),
    ("[0, 100]", "[-1.5e308, 1.5e308]", [(3, "features[0].bounds", "too far apart")]),
    ("bounds: [0, 100], ", "", [(3, "features[0].type", "needs bounds")]),
    ("[0, 10]}", "[0, 9.5]}", [(4, "features[1].bounds", "whole")]),
    ("[0, 10]}", "[0, 1e300]}", [(4, "features[1].bounds", "2^53")]),
    ("step: 1", "missing: 101", [(3, "features[0].missing", "income: missing: 101 is outside 0 to 100")]),
    ("mutable: none", "missing: west", [(6, "features[3].missing", "'west' is not one of 'north', 'south'")]),
    ("step: 1", "step: 101", [(3, "features[0].step", "does not fit")]),
    (
        "step: 1",
        "step: 1e-18",
        [(3, "features[0].step", "steps of 1e-18 are too small: give 1e-07 or more, a billion")],
    ),
    ("step: 1", "step: 0", [(3, "features[0].step", "> 0")]),
    ("step: 1", "max_change: much", [(3, "features[0].max_change", "a text that is a share, such as 25%")]),
    ("step: 1", "max_change: 0%", [(3, "features[0].max_change", "lets nothing change")]),
    ("step: 1", "max_change: 0.1", [(3, "features[0].max_change", "0.1 is below the smallest change, 0.2")]),
    ("step: 1", "step: 2, max_change: 1", [(3, "features[0].max_change", "1 is below the smallest change, 2")]),
    ("step: 1", "step: 2, largest_step: 1", [(3, "features[0].largest_step", "1 is below the smallest change, 2")]),
    ("mutable: none", "largest_step: 1", [(6, "features[3].largest_step", "does not belong to the type categorical")]),
    ("[0, 10]}", "[0, 10], max_change: 0.5}", [(4, "features[1].max_change", "smallest change, 1")]),
    ("high]}", "high], max_change: 50%}", [(5, "features[2].max_change", "levels are counted")]),
    ("mutable: none", "max_change: 1", [(6, "features[3].max_change", "does not belong to the type categorical")]),
    ("max_changes: 2", "max_changes: 0", [(8, "constraints.max_changes", "a whole number >= 1")]),
    ("manifest.json}", "manifest.json, threshold: 1}", [(13, "model.threshold", "nobody would be approved")]),
    ("policy:", "policy:\n  margin: 0.5", [(15, "policy.margin", "no score exceeds the threshold and the margin")]),
    (
        "at_least: 5}}",
        "at_least: 5}}\n    - {if: {feature: debts, at_least: 0}, then: {feature: school, equals: high}}\n"
        "    - {if: {feature: income, at_least: 5}, then: {feature: school, equals: basic}}",
        [
            (line, f"constraints.rules[{line - 11}]", "no values within the bounds keep rule 1 and rule 2 and rule 3")
            for line in (11, 12, 13)
        ],
    ),
    ("[0, 10]}", "[0, 10], step: 0.5}", [(4, "features[1].step", "whole")]),
    ("[none, basic, high]", "[high]", [(5, "features[2].levels", "at least two")]),
    (
        "[none, basic, high]",
        "[none, none, high, '']",
        [(5, "features[2].levels[1]", "twice"), (5, "features[2].levels[3]", "empty")],
    ),
    (
        "[north, south]",
        "[1, true]",
        [(6, "features[3].categories[0]", "quotes"), (6, "features[3].categories[1]", "quotes")],
    ),
    ("[north, south]", "[north, south], bounds: [0, 1]", [(6, "features[3].bounds", "does not belong")]),
    ("[north, south]", "[north, south], one_hot: [n]", [(6, "features[3].one_hot", "1 columns for 2")]),
    ("[north, south]", "[north, south], one_hot: [n, n]", [(6, "features[3].one_hot", "column n is used twice")]),
    ("[north, south]", "[north, south], one_hot: [n, debts]", [(6, "features[3].one_hot", "column debts")]),
    ("mutable: none", "mutable: up", [(6, "features[3].mutable", "no order")]),
    ("mutable: none", "mutabel: none", [(6, "features[3].mutabel", "did you mean mutable?")]),
    ("type: ordinal", "type: ordnal", [(5, "features[2].type", "did you mean ordinal?")]),
    ("mutable: none", "audit: true", [(6, "features[3].audit", "write `mutable: none`")]),
    ("step: 1", "audit: true", [(3, "features[0].audit", "give bands in place of a number")]),
    ("name: debts, ", "", [(4, "features[1]", "the key name is missing")]),
    (
        "name: debts",
        "name: income",
        [(4, "features[1].name", "feature income is given twice"), (9, "constraints.le[0][0]", "'debts' is not")],
    ),
    ("name: repaid", "name: debts", [(12, "label.name", "also a feature")]),
    ("name: repaid", "name: 'region:north'", [(12, "label.name", "one of its columns")]),
    ("name: repaid", "name: repaid, desired: true", [(12, "label.desired", "got true or false")]),
    ("max_changes: 2", "max_changes: 4", [(8, "constraints.max_changes", "mutable features are 3")]),
    ("[debts, income]", "[debt, income]", [(9, "constraints.le[0][0]", "did you mean debts?")]),
    ("[debts, income]", "[debts, region]", [(9, "constraints.le[0][1]", "compares numbers")]),
    ("[debts, income]", "[debts, debts]", [(9, "constraints.le[0]", "with itself")]),
    ("[debts, income]", "[debts]", [(9, "constraints.le[0]", "length 2")]),
    ("[0, 10]}", "[101, 110]}", [(9, "constraints.le[0]", "can never hold")]),
    ("equals: high", "equals: hihg", [(11, "constraints.rules[0].if.equals", "did you mean high?")]),
    ("equals: high", "at_most: 1", [(11, "constraints.rules[0].if.at_most", "the feature is ordinal")]),
    ("at_least: 5", "at_least: 101", [(11, "constraints.rules[0].then.at_least", "outside 0 to 100")]),
    ("at_least: 5", "equals: much", [(11, "constraints.rules[0].then.equals", "not a number")]),
    ("at_least: 5", "at_least: 5, at_most: 6", [(11, "constraints.rules[0].then", "at_least and at_most is given")]),
    (", at_least: 5", "", [(11, "constraints.rules[0].then", "none is given")]),
    (
        "{feature: income, at_least",
        "{feature: incom, at_least",
        [(11, "constraints.rules[0].then.feature", "mean income?")],
    ),
    ("manifest: model/manifest.json", "manifest: ''", [(13, "model.manifest", "empty")]),
    ("time: P90D", "time: P90D, steps: 3", [(15, "policy.window", "both are given")]),
    ("time: P90D, ", "", [(15, "policy.window", "neither is given")]),
    ("time: P90D", "time: P0D", [(15, "policy.window.time", "longer than zero")]),
    ("time: P90D", "time: 90 days", [(15, "policy.window.time", "duration")]),
    ("time: P90D", "steps: 1000001", [(15, "policy.window.steps", "<= 1000000")]),
    ("policy:", "policy:\n  seed: -1", [(15, "policy.seed", ">= 0")]),
    ("equals: high", "equals: 0x" + "f" * 5000, [(11, "constraints.rules[0].if.equals", "beyond 64 bits")]),
    ("lateness: PT1M", "lateness: -PT1M", [(15, "policy.window.lateness", "negative")]),
    (
        "policy:",
        "capacity: {places: 0, round: P1D}\npolicy:",
        [(14, "capacity.places", ">= 1")],
    ),
    ("policy:", "retention: {closed: P0D}\npolicy:", [(14, "retention.closed", "longer than nothing")]),
    ("policy:", "capacity: {places: 1, round: P0D}\npolicy:", [(14, "capacity.round", "at least a second")]),
    (
        "policy:",
        "policy:\n  choice: 1\n  nu: high",
        [(15, "policy.choice", "quotes"), (16, "policy.nu", "a number")],
    ),
    ("policy:", "policy:\n  nu: 1\n  assumed_nu: 1", [(16, "policy.assumed_nu", "take one of them out")]),
    (
        "bounds: [0, 100], ",
        "bounds: [much, more], ",
        [(3, "features[0].bounds[0]", "a number"), (3, "features[0].bounds[1]", "a number")],
    ),
    ("program: loan", "program: loan\nprogram: loan", [(2, "program", "given twice, first in line 1")]),
    ("policy:", "polcy:", [(14, "polcy", "did you mean policy?")]),
]


@pytest.mark.parametrize(("old", "new", "expected"), CASES)
def test_every_error_is_found_at_its_line(old, new, expected):
    found = problems(old, new)
    assert [(line, path) for line, path, _ in found] == [(line, path) for line, path, _ in expected]
    for (_, _, message), (_, _, part) in zip(found, expected, strict=True):
        assert part in message


def test_all_errors_of_meaning_are_reported_at_once(tmp_path):
    file = tmp_path / "bad.yaml"
    text = GOOD.replace("[0, 100]", "[3, 3]").replace("[debts, income]", "[debts, x]").replace("P90D", "P0D")
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    assert [problem.line for problem in caught.value.problems] == [3, 9, 15]
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.problems)
    assert lines[0] == f"{file}:3: features[0].bounds: income: the lower bound 3 must be below the upper bound 3"


WRONG_TYPES = """\
program: Loan!
features:
  - {name: income, type: continuous, bounds: [10, 0]}
  - {nam: school, type: ordinal, levels: [none, basic]}
  - {name: region, type: categorical, categories: [east, 1]}
constraints:
  le: [[1, income]]
  rules:
    - {if: {feature: region}, then: {feature: 7}}
label: {name: repaid}
policy: {nu: low, window: {steps: 3, time: P1D}}
shard: 2
"""


def test_all_wrong_types_and_keys_are_reported_together_and_before_any_rule():
    found = parse_spec(WRONG_TYPES.encode())
    assert [(problem.line, problem.path, problem.message.split()[0]) for problem in found] == [
        (1, "", "the"),  # the model is missing
        (1, "program", "expected"),
        (4, "features[1]", "the"),  # its name is missing
        (4, "features[1].nam", "unknown"),
        (5, "features[2].categories[1]", "expected"),
        (7, "constraints.le[0][0]", "expected"),
        (9, "constraints.rules[0].then.feature", "expected"),
        (11, "policy.nu", "expected"),
        (12, "shard", "unknown"),
    ]


def test_all_values_that_are_not_plain_are_reported_together():
    found = problems("program: loan", "program: !!set {a}\nseed: .inf\nseed: 1\nshards: !x 2")
    assert [(line, path) for line, path, _ in found] == [(2, "seed"), (3, "seed"), (4, "shards")]


def test_without_a_mutable_feature_there_is_nothing_to_recommend():
    spec = b"program: p\nlabel: {name: y}\nmodel: {manifest: m}\n"
    spec += b"features: [{name: a, type: integer, bounds: [0, 1], mutable: none}]\n"
    (problem,) = parse_spec(spec)
    assert (problem.line, problem.path) == (4, "features")
    assert "delete `mutable: none` where a person could change something" in problem.message


BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "more than 20000 values"),
        ("a: &x [*x]", "an alias of itself"),
        ("a: &x {b: 1, c: [*x, *x]}", "an alias of itself"),
        ("[" * 5000, "nested deeper"),
        ("a: " + "{a: " * 40 + "1" + "}" * 40, "nested deeper"),
        ("a: !!python/object/apply:os.system [id]", "the file is not a spec"),
        ("a: !!python/name:os.system x", "not allowed"),
        ("", "empty"),
        ("a: [1", "line"),
        ("a: 1\n---\nb: 2", "single document"),
        ('a: "\\UFFFFFFFF"', "not YAML"),
        ('a: "\\uD800"', "half of a character"),
        ("a: \x01", "not allowed"),
        ("? [a]\n: 1", "a key must be text"),
        ("a: " + "9" * 5000, "cannot be read as int"),
        ("a: !!int", "cannot be read as int"),
        ("- 1", "expected a mapping, got a list"),
        ("x" * (MAX_BYTES + 1), "bytes"),
    ],
)
def test_hostile_yaml_is_an_error_like_any_other(text, message):
    found = parse_spec(text.encode())
    assert isinstance(found, list)
    known = {"the file is not a spec": "unknown key", "line": "while parsing"}
    assert any(known.get(message, message) in problem.message for problem in found)


HEAD = "program: loan\nlabel: {name: repaid}\nmodel: {manifest: m}\n"


def listed(pattern: str, count: int) -> str:
    return "[" + ", ".join(pattern.replace("%", str(number)) for number in range(count)) + "]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"features: {listed('{}', 2000)}", "there are more problems"),
        (f"features: [{{name: a, type: categorical, categories: {listed('c%', 2001)}}}]", "2001 encoded columns"),
        (
            f"features: [{{name: a, type: categorical, categories: {listed('c%', 200)}}}]\nconstraints: {{rules: "
            f"{listed('{if: {feature: a, equals: d%}, then: {feature: a, equals: e%}}', 1000)}}}",
            "there are more problems",
        ),
        (f"features: {listed('c', 20_001)}", "more than 20000 values"),
    ],
)
def test_a_hostile_spec_takes_little_time_and_few_lines(text, message):
    started = process_time()
    found = parse_spec((HEAD + text).encode())
    assert process_time() - started < 1500 * fixed_work()
    assert isinstance(found, list)
    assert any(message in problem.message for problem in found)
    assert len(found) <= MAX_PROBLEMS + 1


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path):
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"program: loan\nlabel: {name: \xe9}\n")
    absent = tmp_path / "absent"
    for path, message in [
        (absent, "absent: cannot .*No such file"),
        (tmp_path, "cannot .*directory"),
        (latin, "latin.yaml:2: not UTF-8"),
    ]:
        with pytest.raises(SpecError, match=message):
            load_spec(path)


@given(st.data())
def test_a_damaged_spec_is_a_spec_or_a_list_of_problems_with_lines_of_the_file(data):
    text = GOOD
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 8)))
        text = text[:start] + data.draw(st.text("{}[]:,-&*!|>'\"#%@ \n\t~0.aé", max_size=4)) + text[end:]
    found = parse_spec(text.encode())
    if not isinstance(found, ProgramSpec):
        assert found
        assert all(1 <= problem.line <= text.count("\n") + 1 for problem in found)
        assert all(problem.message and "\n" not in problem.message for problem in found)


@pytest.mark.parametrize("name", ["credit", "diabetes", "compas"])
def test_the_specs_of_the_data_sets_are_good(name):
    assert load_spec(SPECS / f"{name}.yaml").spec.program == name
