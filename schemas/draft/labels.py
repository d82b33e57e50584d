"""Guesses which value of the label is the desired one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..events import Value
from ..number_text import number
from .association import trend
from .columns import Column, Mask, is_scalable
from .names import AFFIRMED, DENIED, HIGHER_IS_BETTER, LOWER_IS_BETTER, UNWANTED, words_of
from .yaml_text import number_text, text


class Guess(NamedTuple):
    """The desired value and how it was found; ``is_known`` is false where nothing says that it is the desired one."""

    desired: Value
    reason: str = ""
    is_known: bool = True


class DraftedLabel:
    """The label of a draft: ``guess`` has its desired value, ``is_desired`` (n,) says which rows have it."""

    def __init__(self, name: str, cells: Sequence[str], columns: Iterable[Column]) -> None:
        values = [_label_value(cell) for cell in cells]
        self.name = name
        self.values: list[Value] = sorted(set(values), key=lambda value: (isinstance(value, str), value))
        self.guess = _guessed(name, values, self.values, columns)
        self.is_desired = _is(self.guess.desired, values)

    def line(self) -> str:
        """The line of YAML, with the other values in a comment."""
        desired, reason, is_known = self.guess
        written = text(desired) if isinstance(desired, str) else number_text(desired)
        comment = f"{'check' if is_known else 'decide:'} which is the desired one of {self._shown()}{reason}"
        return f"label: {{name: {text(self.name)}, desired: {written}}}  # {comment}\n"

    def to_decide(self) -> str | None:
        """What people must decide first; None where the desired value is known."""
        if self.guess.is_known:
            return None
        return f"{self.name!a}: decide which of {self._shown()} is desired: the draft has {self.guess.desired!a}"

    def _shown(self) -> str:
        return ", ".join(ascii(value) for value in self.values[:5]) + (", ..." if len(self.values) > 5 else "")


def _guessed(name: str, cells: Sequence[Value], values: Sequence[Value], columns: Iterable[Column]) -> Guess:
    """The value that means yes, or that only the others' words speak against; else what goes together with it."""
    if len(values) != 2:
        return _of_several(values)
    first = _plain_yes(values)
    is_plain = first is not None
    if first is None:
        wanted = [value for value in values if not words_of(str(value)) & UNWANTED]
        if len(wanted) == 1:
            return Guess(wanted[0], " (guess: by its word)")
        first = _last(values)
    [other] = [value for value in values if value != first]
    votes = sum(_vote(column, _is(first, cells)) for column in columns)
    if votes:
        return Guess(first if votes > 0 else other, " (guess: by what goes together with it)")
    if is_plain and words_of(name) & UNWANTED:
        return Guess(other, " (guess: by its name)")
    return Guess(first, is_known=is_plain)


def _of_several(values: Sequence[Value]) -> Guess:
    affirmed = [value for value in values if _word(value) in AFFIRMED]
    if len(affirmed) == 1:
        return Guess(affirmed[0])
    return Guess(_last(values), is_known=False)


def _plain_yes(values: Sequence[Value]) -> Value | None:
    """Of two values the one that means yes, beside one that means no; None where they mean something else."""
    low, high = values
    if low in (-1, 0) and high == 1:
        return high
    return next((yes for yes, no in ((low, high), (high, low)) if _word(yes) in AFFIRMED and _word(no) in DENIED), None)


def _last(values: Sequence[Value]) -> Value:
    return 1 if 1 in values else values[-1]


def _word(value: Value) -> str:
    return str(value).lower()


def _vote(column: Column, is_one: Mask) -> int:
    """What a plainly good or bad column says of a label: 1 that it is desired, -1 that it is not."""
    if column.words & LOWER_IS_BETTER:
        return -trend(column, is_one)
    return trend(column, is_one) if column.words & HIGHER_IS_BETTER else 0


def _is(value: Value, values: Sequence[Value]) -> Mask:
    return np.array([other == value for other in values])


def _label_value(cell: str) -> Value:
    value = number(cell)
    return value if isinstance(value, str) or is_scalable(value) else cell
