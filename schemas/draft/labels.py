"""Guesses which value of the label is the desired one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..events import Value
from ..table import number
from .association import trend
from .columns import Column, Mask, is_scalable
from .names import HIGHER_IS_BETTER, LOWER_IS_BETTER, UNWANTED, words_of
from .yaml_text import number_text, text


class DraftedLabel:
    """The label of a draft: ``desired`` is the guessed value, ``is_desired`` (n,) says which rows have it."""

    def __init__(self, name: str, cells: Sequence[str], columns: Iterable[Column]) -> None:
        values = [_label_value(cell) for cell in cells]
        self.name = name
        self.values: list[Value] = sorted(set(values), key=lambda value: (isinstance(value, str), value))
        self.desired, self.reason = self.values[-1], ""
        if 1 in self.values:
            self.desired, self.reason = _of_zero_and_one(self.values, _is(1, values), words_of(name), columns)
        self.is_desired = _is(self.desired, values)

    def line(self) -> str:
        """The line of YAML, with the other values in a comment."""
        written = text(self.desired) if isinstance(self.desired, str) else number_text(self.desired)
        shown = ", ".join(ascii(value) for value in self.values[:5]) + (", ..." if len(self.values) > 5 else "")
        comment = f"# check which is the desired one of {shown}{self.reason}"
        return f"label: {{name: {text(self.name)}, desired: {written}}}  {comment}\n"


def _of_zero_and_one(
    values: Sequence[Value], is_one: Mask, words: frozenset[str], columns: Iterable[Column]
) -> tuple[Value, str]:
    """1, unless the label is 0 or 1 and features that are plainly good or bad, or else its name, say 0."""
    if list(values) != [0, 1]:
        return 1, ""
    votes = sum(_vote(column, is_one) for column in columns)
    if votes:
        return int(votes > 0), " (guess: by what goes together with it)"
    return (0, " (guess: by its name)") if words & UNWANTED else (1, "")


def _vote(column: Column, is_one: Mask) -> int:
    """What a plainly good or bad column says of the label's 1: 1 that it is desired, -1 that it is not."""
    if column.words & LOWER_IS_BETTER:
        return -trend(column, is_one)
    return trend(column, is_one) if column.words & HIGHER_IS_BETTER else 0


def _is(value: Value, values: Sequence[Value]) -> Mask:
    return np.array([other == value for other in values])


def _label_value(cell: str) -> Value:
    value = number(cell)
    return value if isinstance(value, str) or is_scalable(value) else cell
