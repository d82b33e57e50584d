"""What features are computed from, as text."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.computed import Expression, expression, written

NAMES = ("a", "hours-per-week", "it's", "class", "income ( € )")
NUMBERS = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e200, 1e200), st.just(math.nan))
SIGNS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
Tree = Any
TREES = st.recursive(
    st.one_of(st.sampled_from(NAMES), st.floats(0, 1e6)),
    lambda part: st.tuples(part, st.sampled_from(list(SIGNS)), part),
    max_leaves=12,
)


def as_text(tree: Tree) -> str:
    if isinstance(tree, tuple):
        return f"({as_text(tree[0])} {tree[1]} {as_text(tree[2])})"
    return written(tree) if isinstance(tree, str) else repr(tree)


def by_hand(tree: Tree, person: dict[str, float]) -> float:
    if not isinstance(tree, tuple):
        return person[tree] if isinstance(tree, str) else tree
    first, second = by_hand(tree[0], person), by_hand(tree[2], person)
    if math.isnan(first) or math.isnan(second) or (tree[1] == "/" and second == 0):
        return math.nan
    return float(SIGNS[tree[1]](first, second))


def names_of(tree: Tree) -> set[str]:
    if isinstance(tree, tuple):
        return names_of(tree[0]) | names_of(tree[2])
    return {tree} if isinstance(tree, str) else set()


def divides_by_zero(tree: Tree) -> bool:
    """Whether some part of it divides by what is 0 for everybody."""
    if not isinstance(tree, tuple):
        return False
    zero = tree[1] == "/" and not names_of(tree[2]) and by_hand(tree[2], {}) == 0
    return zero or divides_by_zero(tree[0]) or divides_by_zero(tree[2])


@given(TREES.filter(names_of), st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, NUMBERS)), min_size=1, max_size=5))
def test_a_computed_feature_is_what_one_computes_by_hand_for_each_person(
    tree: Tree, people: list[dict[str, float]]
) -> None:
    made = _read(as_text(tree))
    if divides_by_zero(tree):
        assert made == "it divides by 0, for everybody"
        return
    assert isinstance(made, Expression)
    assert set(made.names) == names_of(tree)
    values = made({name: np.array([person[name] for person in people]) for name in NAMES})
    expected = np.array([by_hand(tree, person) for person in people])
    np.testing.assert_array_equal(values, np.where(np.isfinite(expected), expected, np.nan))


@given(st.text() | st.text(alphabet="ab'\"()+-*/<>=.,[]{}:# 019ej_"))
def test_any_text_is_an_expression_or_refused_in_one_line(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = _read(text)
    if isinstance(made, str):
        assert "\n" not in made
    else:
        assert made({name: np.zeros(2) for name in made.names}).shape == (2,)


def _read(text: str) -> Expression | str:
    try:
        return expression(text)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "text",
    ["", "5", "a == b", "a < b < 3", "a.b", "f(a)", "a ** 2", "a % 2", "True + a", "1j * a", "1e999 * a", "class / 2",
     "a / 0", "a / (2 - 2)",
     "a if b else c", "lambda: a", "[a]", "f'{a}'", "b'a'", "1if a else b", "a\nb", "a\\b", "-" * 1500 + "a",
     "9" * 1500 + " * a", "(" * 900 + "a" + ")" * 900, " + ".join(["a"] * 200), "a" * 3000],
)  # fmt: skip
def test_what_is_no_expression_is_refused_in_one_line(text: str) -> None:
    message = _read(text)
    assert isinstance(message, str)
    assert "\n" not in message
    assert len(message) < 250


def test_a_total_of_many_features_is_an_expression() -> None:
    names = [f"cost {number}" for number in range(80)]
    total = expression(" + ".join(map(written, names)))
    assert total.names == tuple(names)
    assert total({name: np.ones(3) for name in names}).tolist() == [80.0] * 3


def test_a_division_by_zero_is_not_defined_and_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = expression("a / b > 1")({"a": np.array([1.0, 0.0, 4.0]), "b": np.array([0.0, 0.0, 2.0])})
    np.testing.assert_array_equal(made, [np.nan, np.nan, 1.0])
