"""Between which probabilities an option helps: what is uncertain of an estimate, and of what outcomes have taught."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from ..sigmoid import scalar_logit, scalar_sigmoid


class HelpInterval(NamedTuple):
    """The ``ends`` between which the probability lies that an option helps, and what outcomes make of it.

    ``learned`` is None where nobody learns it; else it lies between the ends.
    """

    ends: tuple[float, float]
    learned: float | None = None


def deviations_of(level: float) -> float:
    """How many standard deviations to either side of its mean hold the share ``level`` of a normal distribution."""
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def interval_around(probability: float, deviation: float, level: float) -> tuple[float, float]:
    r"""The ends around a ``probability`` whose log odds have this standard ``deviation``.

    They are $\sigma(\operatorname{logit} p \pm z\, \mathrm{sd})$, normal on the scale of the log odds. So no end is
    beyond 0 or 1, and the probability lies between them.

    Examples
    --------
    >>> low, high = interval_around(0.8, 0.5, 0.8)
    >>> round(low, 3), round(high, 3)
    (0.678, 0.884)
    """
    log_odds, reach = scalar_logit(probability), deviations_of(level) * deviation
    if math.isinf(log_odds):
        return probability, probability
    low, high = scalar_sigmoid(log_odds - reach), scalar_sigmoid(log_odds + reach)
    return min(low, probability), max(high, probability)
