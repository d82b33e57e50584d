"""Rules of single features that could give way: by how much, and how a person reads it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ...rounding import ROUNDING
from ..contract import Mask, Mutable, Space

OTHER: dict[Mutable, Mutable] = {"up": "down", "down": "up"}
"""The other direction of a feature that may go one way."""
DIVISORS = (2, 5, 10)
"""A finer step is one of these parts of the spec's."""
MOST_SHARE = 10.0
"""The largest share of the own value that an explanation names."""


class Relaxation(ABC):
    """A kind of rule. ``divisor`` is how many steps of a feature become one of the spec's."""

    divisor: ClassVar[int] = 1

    @abstractmethod
    def all_features(self, space: Space) -> Space:
        """The space in which this rule of every feature gives way, as far as makes sense."""

    @abstractmethod
    def relaxed_space(self, space: Space, feature: int, own: float, value: float) -> Space:
        """The space in which this rule of one feature gives way just as far as the raw ``value`` needs."""

    @abstractmethod
    def words(self, space: Space, feature: int, own: float, value: float) -> str:
        """The difference in words, to follow the feature's name."""

    def divided(self, space: Space) -> Mask:
        """The features, (F,), of which ``divisor`` steps become one of the spec's."""
        return np.zeros(len(space.mutable), dtype=np.bool_)


class OtherDirection(Relaxation):
    """A feature that goes one way may go the other way too."""

    def all_features(self, space: Space) -> Space:
        """Every direction."""
        return space._replace(mutable=tuple("any" if rule in OTHER else rule for rule in space.mutable))

    def relaxed_space(self, space: Space, feature: int, own: float, value: float) -> Space:
        """Both directions of one feature."""
        return space._replace(mutable=(*space.mutable[:feature], "any", *space.mutable[feature + 1 :]))

    def words(self, space: Space, feature: int, own: float, value: float) -> str:
        """The direction that is not allowed."""
        return f"could also go {OTHER[space.mutable[feature]]}"


class WiderBounds(Relaxation):
    """A bound lies farther out."""

    def all_features(self, space: Space) -> Space:
        """The farthest bounds that make sense."""
        return space._replace(ranges=space.ranges._replace(lowest=space.ranges.floor, highest=space.ranges.ceiling))

    def relaxed_space(self, space: Space, feature: int, own: float, value: float) -> Space:
        """One bound."""
        bound = "highest" if value > own else "lowest"
        return space._replace(ranges=space.ranges.replaced(bound, feature, value))

    def words(self, space: Space, feature: int, own: float, value: float) -> str:
        """The bound, and the one that would help."""
        way, bounds = ("up", space.ranges.highest) if value > own else ("down", space.ranges.lowest)
        bound = _written(space, feature, bounds[feature])
        return f"could go {way} to {_written(space, feature, value)} instead of {bound}{_unit(space, feature)}"


class LargerChange(Relaxation):
    """A larger change may be asked for."""

    def all_features(self, space: Space) -> Space:
        """Changes of any size, or up to ``MOST_SHARE`` of the own value."""
        ranges = space.ranges
        share = np.where(np.isinf(ranges.largest_share), np.inf, np.maximum(ranges.largest_share, MOST_SHARE))
        free = np.full_like(ranges.largest_change, np.inf)
        return space._replace(ranges=ranges._replace(largest_change=free, largest_share=share))

    def relaxed_space(self, space: Space, feature: int, own: float, value: float) -> Space:
        """One feature's largest change; a share is rounded up to whole per cents."""
        ranges = space.ranges
        if math.isinf(ranges.largest_share[feature]):
            return space._replace(ranges=ranges.replaced("largest_change", feature, abs(value - own)))
        return space._replace(ranges=ranges.replaced("largest_share", feature, _per_cent(own, value) / 100.0))

    def words(self, space: Space, feature: int, own: float, value: float) -> str:
        """The largest change, and the one that would help."""
        change, share = space.ranges.largest_change[feature], space.ranges.largest_share[feature]
        if math.isinf(share):
            needed = _written(space, feature, abs(value - own))
            allowed = _written(space, feature, change) + _unit(space, feature)
        else:
            needed, allowed = f"{_per_cent(own, value)}%", f"{share * 100.0:g}%"
        return f"could change by up to {needed} instead of {allowed}"


class FinerStep(Relaxation):
    """A step is a part of the spec's."""

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor  # type: ignore[misc]

    def all_features(self, space: Space) -> Space:
        """Finer steps of every feature that has one."""
        parts = np.where(self.divided(space), self.divisor, 1)
        return space._replace(smallest_change=space.smallest_change / parts)

    def relaxed_space(self, space: Space, feature: int, own: float, value: float) -> Space:
        """The finer step of one feature."""
        steps = space.smallest_change.copy()
        steps[feature] /= self.divisor
        return space._replace(smallest_change=steps)

    def words(self, space: Space, feature: int, own: float, value: float) -> str:
        """The step, and the one that would help."""
        step = space.smallest_change[feature]
        finer, given = _written(space, feature, step / self.divisor), _written(space, feature, step)
        return f"could change in steps of {finer} instead of {given}{_unit(space, feature)}"

    def divided(self, space: Space) -> Mask:
        """The features with a step of the spec, of which such a part can be written."""
        unit = 10.0 ** np.maximum(space.digits, 0)
        parts = space.smallest_change * unit / self.divisor
        return np.asarray((parts >= 1.0 - ROUNDING) & (np.abs(parts - np.rint(parts)) < ROUNDING * unit))


KINDS: tuple[Relaxation, ...] = (
    *(FinerStep(divisor) for divisor in DIVISORS),
    WiderBounds(),
    LargerChange(),
    OtherDirection(),
)


def _per_cent(own: float, value: float) -> int:
    return math.ceil(abs(value - own) / abs(own) * 100.0 - ROUNDING)


def _unit(space: Space, feature: int) -> str:
    """The unit of a feature after a space; nothing where it has none."""
    unit = space.units and space.units[feature]
    return f" {unit}" if unit else ""


def _written(space: Space, feature: int, value: float) -> str:
    """A raw value with the decimals that it has."""
    text = f"{value:.{max(space.digits[feature], 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
