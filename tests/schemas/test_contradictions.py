"""Contradicting constraints are found, and only those: beside a count of every person of small programs."""

from itertools import product
from time import process_time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.benchmarks.arena.machine import fixed_work
from onward.schemas.constraints import CrossFeatureRules
from onward.schemas.contradictions import contradiction
from onward.schemas.spec import Condition, Constraints, Rule
from onward.schemas.specfile import parse_spec

SPEC = parse_spec(b"""\
program: p
features:
  - {name: a, type: integer, bounds: [0, 3]}
  - {name: b, type: integer, bounds: [1, 4]}
  - {name: c, type: integer, bounds: [2, 3]}
  - {name: x, type: continuous, bounds: [0, 3]}
  - {name: s, type: categorical, categories: [p, q]}
label: {name: y}
model: {manifest: m}
""")
HALVES = [number / 2 for number in range(7)]
EVERYBODY = [
    dict(zip("abcxs", values, strict=True))
    for values in product(range(4), range(1, 5), range(2, 4), [*HALVES, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75], "pq")
]
"""One person on every bound that a condition below names, and one between any two of them."""

NUMBERS = st.sampled_from("abcx").flatmap(
    lambda name: st.sampled_from(("equals", "at_least", "at_most")).flatmap(
        lambda operator: st.sampled_from([1.0, 2.0, 3.0] if name != "x" and operator == "equals" else HALVES).map(
            lambda value: Condition(name, **{operator: value})
        )
    )
)
CONDITIONS = NUMBERS | st.sampled_from("pq").map(lambda value: Condition("s", equals=value))
PAIRS = st.tuples(st.sampled_from("abcx"), st.sampled_from("abcx")).filter(lambda pair: pair[0] != pair[1])


def constrained(pairs, rules):
    return msgspec.structs.replace(SPEC, constraints=Constraints(le=tuple(pairs), rules=tuple(rules)))


@given(st.lists(PAIRS, max_size=4), st.lists(st.builds(Rule, CONDITIONS, CONDITIONS), max_size=8))
def test_a_contradiction_is_found_where_nobody_keeps_all_constraints(pairs, rules):
    spec = constrained(pairs, rules)
    kept = CrossFeatureRules(spec)
    somebody = any(kept.violated(person) is None for person in EVERYBODY)
    assert (not contradiction(spec)) == somebody


def test_only_those_that_contradict_each_other_are_named():
    never = Rule(Condition("s", equals="q"), Condition("s", equals="p"))
    always = Rule(Condition("a", at_least=0), Condition("a", at_most=1))
    spec = constrained([("c", "b"), ("b", "a")], [never, always])
    assert contradiction(spec) == {
        ("constraints", "le", 0): "le: c <= b",
        ("constraints", "le", 1): "le: b <= a",
        ("constraints", "rules", 1): "rule 2",
    }


@pytest.mark.parametrize("count", [20, 1000])
def test_many_rules_take_little_time(count):
    rules = [
        Rule(Condition("x", equals=number / count), Condition("s", equals="pq"[number % 2])) for number in range(count)
    ]
    started = process_time()
    assert not contradiction(constrained([("a", "b")], rules))
    assert process_time() - started < 400 * fixed_work()
