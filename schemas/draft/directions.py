"""Which way people can change a feature: by its name, where all of it is known and the data do not speak against it.

What nobody knows to be harmless is closed, and asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..spec import Mutable
from . import names
from .association import CONTRADICTING, trend
from .columns import Column, Mask

BETTER_WHEN = {1: "higher", -1: "lower"}
"""By the sign of a direction."""
FEWEST_COUNTS = 8
FEWEST_AMOUNTS = 20
"""Different values below which the numbers of a column may be codes: of counts, and of money or shares."""


class Direction(NamedTuple):
    """``mutable`` of a feature, and why.

    Where ``is_undecided``, nothing says that people can change it: it is closed until somebody does.
    """

    mutable: Mutable
    reason: str = ""
    is_personal: bool = False
    is_undecided: bool = False
    is_doubted: bool = False
    """Whether another question comes first, so that nobody is asked about the direction."""
    is_said: bool = False
    """Whether somebody has said so."""

    @property
    def may_open(self) -> bool:
        """Whether people may change it, or somebody may yet say so."""
        return self.mutable != "none" or self.is_undecided

    @property
    def may_follow(self) -> bool:
        """Whether it may move with another feature: nothing but an answer says that people cannot change it."""
        return self.may_open or self.is_said


BY_WAITING = Direction("none", "it only grows by waiting: up, if that is advice")
UNKNOWN = Direction("none", is_undecided=True)


def direction_of(column: Column, desired: Mask | None, *, is_ordered: bool) -> Direction:
    """The direction of a column. ``is_ordered`` is false for categories; ``desired`` is None where nobody knows it."""
    fixed = fixed_by_name(column.words)
    if fixed is not None:
        return fixed
    if column.numbers is None and not column.bands:
        if is_ordered and names.is_education(column.name):
            return Direction("up", "it can only grow")
        return UNKNOWN
    meaning = meaning_of_column(column)
    return UNKNOWN if meaning is None else _of_number(column, meaning, desired)


def _of_number(column: Column, meaning: names.Meaning, desired: Mask | None) -> Direction:
    better = f"better when {BETTER_WHEN[meaning.subject.sign]}"
    if meaning.unknown:
        others = ", ".join(f"{word!r}" for word in meaning.unknown)
        return _undecided(f"{better} as {meaning.word}, but {others} may make it something else")
    if not meaning.subject.is_open:
        return Direction("none", "nobody can change that")
    if may_be_codes(column, meaning.subject):
        return _undecided(f"{better} by its name, but so few different numbers may be codes")
    if desired is not None and trend(column, desired, CONTRADICTING) == -meaning.subject.sign:
        return _undecided(f"{better} by its name, but not in the data")
    return Direction("up" if meaning.subject.sign > 0 else "down", f"{better}, by its name")


def _undecided(reason: str) -> Direction:
    return Direction("none", reason, is_undecided=True)


def meaning_of_column(column: Column) -> names.Meaning | None:
    """What a column is about by its name. Bands of incomes are incomes, whatever the name calls the bands."""
    return names.meaning_of(column.name, names.FORMS if column.bands else frozenset())


def may_be_codes(column: Column, subject: names.Subject) -> bool:
    """Whether a column has fewer different numbers than amounts, or counts, would have. Bands are no codes."""
    fewest = FEWEST_AMOUNTS if subject.is_money else FEWEST_COUNTS
    return not column.bands and len(np.unique(column.values)) < fewest


def fixed_by_name(words: frozenset[str]) -> Direction | None:
    """``none`` for what nobody can or should change."""
    if names.is_personal(words):
        return Direction("none", "personal data", is_personal=True)
    if names.is_past(words) or words & names.PURPOSE:
        return Direction("none", "nobody can change that")
    if names.is_duration(words):
        return BY_WAITING
    if words & names.PLACE or names.is_housing(words):
        return Direction("none", "nobody is told to move")
    return None
