"""Features that follow from others in every row: what a spec's ``computed`` says of each, such as ``housing / income``.

Sums, differences, products, ratios, constants, parentheses, and flags such as ``arrears > 0``, which are 1 or 0. A name
that has other characters than letters, digits and ``_`` stands in quotes: ``'hours-per-week' / 2``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from math import isfinite
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_CHARACTERS = 2000
MOST_SHOWN = 60
DEEPEST = 100
"""Operations within each other. A sum of n features has n - 1."""


def _ratio(first: Floats, second: Floats) -> Floats:
    return np.where(second == 0.0, np.nan, np.divide(first, second))


def _flag(compare: Callable[[Floats, Floats], NDArray[np.bool_]]) -> Callable[[Floats, Floats], Floats]:
    def flag(first: Floats, second: Floats) -> Floats:
        return np.where(np.isnan(first) | np.isnan(second), np.nan, compare(first, second).astype(np.float64))

    return flag


Operation = Callable[[Floats, Floats], Floats]
OPERATIONS: Mapping[type[ast.operator | ast.cmpop], Operation] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: _ratio,
    ast.Gt: _flag(operator.gt),
    ast.GtE: _flag(operator.ge),
    ast.Lt: _flag(operator.lt),
    ast.LtE: _flag(operator.le),
}
KNOWN = "only + - * / > >= < <=, numbers, names and parentheses are known"
IN_QUOTES = "a name with other characters than letters, digits and _ stands in quotes"


@dataclass(frozen=True)
class Expression:
    """What a feature is computed from. ``names`` are the features that it is made of, each once, in their order."""

    text: str
    names: tuple[str, ...]
    _tree: ast.expr = field(compare=False, repr=False)

    def __call__(self, values: Mapping[str, NDArray[np.float64]]) -> Floats:
        """Its values (n,), of the raw values (n,) of each of its names.

        NaN where it is not defined: by division by zero, beyond the largest number, or of NaN.
        """
        with np.errstate(all="ignore"):
            made = _value(self._tree, values)
            return np.where(np.isfinite(made), made, np.nan)


def expression(text: str) -> Expression:
    """The expression of a text. Raises ValueError with one line for a text that is none."""
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{len(text)} characters: an expression has at most {MOST_CHARACTERS}")
    if not text.isprintable() or "\\" in text:
        raise ValueError("a backslash, or a character that cannot be printed")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{text[:MOST_SHOWN]!r} is no expression: {KNOWN}; {IN_QUOTES}") from None
    names = tuple(dict.fromkeys(_names(tree, text, DEEPEST)))
    if not names:
        raise ValueError(f"{text[:MOST_SHOWN]!r} uses no feature: a number that is the same for everybody is none")
    return Expression(text, names, tree)


def written(name: str) -> str:
    """A feature's name as an expression has it: in quotes where it needs them."""
    if name.isidentifier() and not iskeyword(name) and normalize("NFKC", name) == name:
        return name
    return f"'{name}'" if "'" not in name else f'"{name}"'


def _names(tree: ast.expr, text: str, depth: int) -> Iterator[str]:
    """The names of the tree of a text, from left to right. Raises ValueError for what is no part of an expression."""
    if depth < 0:
        raise ValueError(f"more than {DEEPEST} operations within each other")
    match tree:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            yield name
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if not _is_finite(number):
                raise ValueError("a number is beyond the largest one")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _names(operand, text, depth - 1)
        case ast.Compare(left=first, ops=[operation], comparators=[second]) if type(operation) in OPERATIONS:
            yield from _names(first, text, depth - 1)
            yield from _names(second, text, depth - 1)
        case ast.BinOp(left=first, op=operation, right=second) if type(operation) in OPERATIONS:
            yield from _names(first, text, depth - 1)
            of_second = list(_names(second, text, depth - 1))
            yield from of_second
            if isinstance(operation, ast.Div) and not of_second and _is_zero(second):
                raise ValueError("it divides by 0, for everybody")
        case _:
            part = text[tree.col_offset : tree.end_col_offset] if text.isascii() else text
            raise ValueError(f"{part[:MOST_SHOWN]!r} is not understood: {KNOWN}; {IN_QUOTES}")


def _is_zero(tree: ast.expr) -> bool:
    """Whether a checked tree without names is 0."""
    with np.errstate(all="ignore"):
        return not _value(tree, {}).any()


def _is_finite(number: float) -> bool:
    try:
        return isfinite(number)
    except OverflowError:
        return False


def _value(tree: ast.expr, values: Mapping[str, NDArray[np.float64]]) -> Floats:
    """The values (n,) of a tree whose parts ``_names`` has checked."""
    match tree:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return np.asarray(values[name], dtype=np.float64)
        case ast.Constant(value=int() | float() as number):
            return np.asarray(number, dtype=np.float64)
        case ast.UnaryOp(operand=operand):
            return np.negative(_value(operand, values))
        case ast.Compare(left=first, ops=[operation], comparators=[second]):
            return OPERATIONS[type(operation)](_value(first, values), _value(second, values))
        case ast.BinOp(left=first, op=operation, right=second):
            return OPERATIONS[type(operation)](_value(first, values), _value(second, values))
    raise AssertionError("an expression was checked when it was made")
