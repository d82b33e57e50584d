"""A plain margin of the score that is as valid under models of other rows as a promise, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..bundle.measured import EqualMargin
from .kept_aside import MARGINS, CheapestOptions, SplitTrial
from .margin import LEAST_SERVED


def equal_margin(trials: Sequence[SplitTrial]) -> EqualMargin | None:
    """The margin between two of ``MARGINS`` at which plain options are as valid as the promised ones.

    None where no margin is, or the one that is leaves less than nine of ten people with an option.
    """
    promised = [trial.promised for trial in trials]
    wanted, paid = _accepted(promised), float(np.concatenate([offer.cost for offer in promised]).mean())
    tried: list[tuple[float, float, float]] = []
    plain = zip(*[trial.plain for trial in trials], strict=True)
    for margin, offers in zip(MARGINS, plain, strict=False):
        if _served(offers) < LEAST_SERVED * _served(promised):
            return None
        tried.append((margin, _accepted(offers), _relative_cost(offers, promised)))
        if tried[-1][1] >= wanted:
            margins, accepted, costs = zip(*tried[-2:], strict=True)
            margin, cost = (float(np.interp(wanted, accepted, values)) for values in (margins, costs))
            return EqualMargin(round(margin, 3), cost * paid, paid, wanted)
    return None


def _served(offers: Sequence[CheapestOptions]) -> int:
    return sum(len(offer.people) for offer in offers)


def _accepted(offers: Sequence[CheapestOptions]) -> float:
    """The mean over the trials, each of which counts the same."""
    return float(np.mean([offer.accepted.mean() for offer in offers if len(offer.people)]))


def _relative_cost(offers: Sequence[CheapestOptions], promised: Sequence[CheapestOptions]) -> float:
    """The cost of plain options as a share of that of promised ones, of the people who have both."""
    plain, paid = 0.0, 0.0
    for offer, other in zip(offers, promised, strict=True):
        _, mine, theirs = np.intersect1d(offer.people, other.people, return_indices=True)
        plain, paid = plain + float(offer.cost[mine].sum()), paid + float(other.cost[theirs].sum())
    return plain / paid if paid else 1.0
