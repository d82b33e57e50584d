"""Which features a draft opens, and which way: what somebody has said, else by a name of which all is known.

The data must not speak against it. What nobody knows to be harmless is closed, and asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..spec import Mutable
from . import names
from .association import CONTRADICTING, trend
from .columns import Column, Mask
from .questions import DraftDecisions, DraftQuestion

PERSONAL_STAYS = "personal data, which no answer opens: change its line in the drafted spec"
DIRECTIONS: tuple[Mutable, ...] = ("none", "up", "down", "any")
WITHOUT_ORDER: tuple[Mutable, ...] = ("none", "any")
"""What may be said of a feature with an order, and without one."""
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


def guessed(column: Column, desired: Mask | None, doubt: str = "") -> Direction:
    """The direction of a column as name and data tell it. ``desired`` (n,) is None where nobody knows it.

    Where there is a ``doubt`` what its values are, nobody is told to change it.
    """
    is_ordered = column.numbers is not None or column.levels is not None
    guess = direction_of(column, desired, is_ordered=is_ordered)
    if not doubt:
        return guess
    if guess.may_open:
        return Direction("none", doubt, is_undecided=True, is_doubted=True)
    return guess._replace(reason=f"{guess.reason}; {doubt}")


def decided(guess: Direction, name: str, seen: str, decisions: DraftDecisions, *, is_ordered: bool) -> Direction:
    """What somebody said about a feature, else the guess; ``seen`` is added to one that is undecided."""
    seen = PERSONAL_STAYS if guess.is_personal else "; ".join(part for part in (guess.reason, seen) if part)
    question = DraftQuestion("mutable", name, seen, DIRECTIONS if is_ordered else WITHOUT_ORDER)
    if guess.is_personal:
        decisions.defer(question)
        return guess
    if guess.is_doubted:
        decisions.defer(question)
        return guess._replace(reason=seen)
    answer = decisions.decide(question) if guess.is_undecided else decisions.kept(question)
    mutable = next((choice for choice in DIRECTIONS if choice == answer), None)
    if mutable is not None:
        return Direction(mutable, "as answered", is_said=True)
    return guess._replace(reason=seen) if guess.is_undecided else guess


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
