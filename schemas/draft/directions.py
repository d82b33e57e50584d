"""Guesses which way people can change a feature, from its name and its association with the label."""

from __future__ import annotations

from typing import NamedTuple

from ..spec import Mutable
from . import names
from .association import CONTRADICTING, trend
from .columns import Column, Mask

BETTER_WHEN = {1: "higher", -1: "lower"}
"""By the sign of a direction."""


class Direction(NamedTuple):
    """``mutable`` of a feature, and why; no reason where nothing was guessed."""

    mutable: Mutable
    reason: str = ""
    is_personal: bool = False


ANY = Direction("any")
BY_WAITING = Direction("none", "it only grows by waiting: up, if that is advice")


def direction_of(column: Column, desired: Mask, *, is_ordered: bool) -> Direction:
    """The direction of a column. ``is_ordered`` is false for categories."""
    fixed = fixed_by_name(column.words)
    if fixed is not None:
        return fixed
    if column.words & names.LOWER_IS_BETTER or names.is_asked_for(column.words):
        return _towards(-1, column, desired) if is_ordered else ANY
    if column.words & names.HIGHER_IS_BETTER:
        return _towards(1, column, desired) if is_ordered else ANY
    if column.words & names.GROWS and is_ordered:
        if column.words & names.WAITING:
            return BY_WAITING
        return Direction("up", "it can only grow")
    if column.words & names.EDUCATION:
        return Direction("none", "it can only grow: type ordinal, with levels from lowest to highest, lets it go up")
    if is_ordered and column.words & names.HIGHER_MAY_BE_BETTER and trend(column, desired) > 0:
        return Direction("up", "better when higher, by its name and the data")
    return ANY


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


def _towards(sign: int, column: Column, desired: Mask) -> Direction:
    """The direction that the name says, unless the data say the opposite."""
    if trend(column, desired, CONTRADICTING) == -sign:
        return Direction("any", f"{BETTER_WHEN[sign]} should be better by its name, but not in the data: decide")
    return Direction("up" if sign > 0 else "down", f"better when {BETTER_WHEN[sign]}, by its name")
