"""Slopes that differ between groups of people, as the rows of a data file tell it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ....schemas.draft.columns import Floats
from ..bundle.manifest import FittedSlope

FEWEST = 30
"""Rows from which slopes are fitted, for the first parent; each further one needs as many again."""
CHANCE = 0.001
"""How probable it may be that slopes differ so by chance, where they do not; of all parents and features together."""
LEAST_APART = 0.25
"""How far the slope of some group must be from that of all, as a share of it: less does not change what people do."""
LEAST_ERROR = 0.01
"""What a slope is off at least, as a share of the largest: some groups follow exactly."""


class Groups(NamedTuple):
    """The number of the group of each of n rows, (n,), or -1 for no group, and the names of the groups, in order."""

    of: NDArray[np.intp]
    names: Sequence[str]


class Strata(NamedTuple):
    """The groups by the feature ``by`` whose slopes differ: for each the slopes of the parents, in their order."""

    by: str
    groups: Mapping[str, Sequence[FittedSlope]]


class _Fit(NamedTuple):
    """Slopes and their standard errors (p,) in a group, and its centred numbers (n, p) and (n,)."""

    slopes: Floats
    errors: Floats
    x: Floats
    y: Floats


def strata_of_child(x: Floats, y: Floats, slopes: Floats, features: Mapping[str, Groups], tests: int) -> Strata | None:
    """The groups in which slopes differ, of centred numbers of the parents (n, p) and the child (n,), or None.

    Asked is each of some features, by Cochran's Q, and how far its groups are from the ``slopes`` (p,) of all. Of those
    that tell slopes apart counts the one with the least Bayesian information criterion. What a group shows counts the
    less, the less sure it is beside how much groups differ, as in a model of random effects. Groups of few rows have
    none of their own. ``tests`` are all that a program asks.

    References
    ----------
    Cochran, W. G. (1954). The combination of estimates from different experiments. Biometrics 10(1).
    DerSimonian, R. and Laird, N. (1986). Meta-analysis in clinical trials. Controlled Clinical Trials 7(3).
    Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6(2).
    """
    found: dict[str, tuple[float, Mapping[str, Sequence[FittedSlope]]]] = {}
    left_by_all = y - x @ slopes
    for name, groups in features.items():
        fits = dict(_fits(x, y, groups))
        own = _apart(list(fits.values()), slopes, tests) if len(fits) > 1 else None
        if own is None:
            continue
        left = {number: fit.y - fit.x @ slope for (number, fit), slope in zip(fits.items(), own, strict=True)}
        others = left_by_all[~np.isin(groups.of, list(fits))]
        squares = sum(float(each @ each) for each in (others, *left.values()))
        criterion = len(y) * math.log(max(squares, 1e-300)) + own.size * math.log(len(y))
        told = zip(fits.items(), own, strict=True)
        found[name] = (
            criterion,
            {groups.names[number]: _told(fit, slope, left[number]) for (number, fit), slope in told},
        )
    if not found:
        return None
    by = min(found, key=lambda name: found[name][0])
    return Strata(by, found[by][1])


def _fits(x: Floats, y: Floats, groups: Groups) -> Iterator[tuple[int, _Fit]]:
    """The fit of each group that has the rows for it, and of which all parents vary."""
    for number in range(len(groups.names)):
        rows = groups.of == number
        if rows.sum() < FEWEST * x.shape[1]:
            continue
        own = x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean()
        if (own[0].std(axis=0) > 0).all():
            yield number, _Fit(*least_squares(*own), *own)


def _apart(fits: Sequence[_Fit], of_all: Floats, tests: int) -> Floats | None:
    """The slopes (S, p) of groups of which some differ, drawn towards their mean; None where none does."""
    slopes, errors = (np.array(each) for each in zip(*((own.slopes, own.errors) for own in fits), strict=True))
    variances = np.maximum(errors, LEAST_ERROR * np.abs(slopes).max(axis=0) + 1e-300) ** 2
    weights, degrees = 1.0 / variances, len(fits) - 1
    q = (weights * (slopes - np.average(slopes, axis=0, weights=weights)) ** 2).sum(axis=0)
    between = weights.sum(axis=0) - (weights**2).sum(axis=0) / weights.sum(axis=0)
    among = np.maximum(q - degrees, 0.0) / between
    mean = np.average(slopes, axis=0, weights=1.0 / (variances + among))
    drawn = mean + (slopes - mean) * among / (among + variances)
    differs = (chdtrc(degrees, q) * tests < CHANCE) & (
        np.abs(drawn - of_all).max(axis=0) >= LEAST_APART * np.abs(of_all)
    )
    return np.where(differs, drawn, of_all) if differs.any() else None


def _told(own: _Fit, slopes: Floats, left: Floats) -> Sequence[FittedSlope]:
    deviations = left.std() / own.x.std(axis=0)
    return [FittedSlope(*each) for each in zip(slopes.tolist(), deviations.tolist(), strict=True)]


def least_squares(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Slopes (k,) and their standard errors, of centred numbers (n, k) and (n,)."""
    sd = x.std(axis=0)
    slopes = np.linalg.lstsq(x / sd, y, rcond=None)[0] / sd
    left = float(((y - x @ slopes) ** 2).sum()) / max(len(y) - x.shape[1] - 1, 1)
    scaled = x / sd
    errors = np.sqrt(left * np.diag(np.linalg.pinv(scaled.T @ scaled))) / sd
    return slopes, errors
