"""Slopes that differ between groups of people, as the rows of a data file tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ....schemas.draft.columns import Floats
from ..bundle.manifest import FittedSlope

Groups = NDArray[Any]
"""The group of each of n rows, (n,), by its name."""

FEWEST = 30
"""Rows from which slopes are fitted, for the first parent; each further one needs as many again."""
CHANCE = 0.001
"""How probable it may be that slopes differ so by chance, where they do not; of all parents and features together."""
LEAST_APART = 0.25
"""How far the slope of some group must be from that of all, as a share of it: less does not change what people do."""


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


def strata_of_child(x: Floats, y: Floats, features: Mapping[str, Groups], tests: int) -> Strata | None:
    """The groups in which slopes differ, of numbers of the parents (n, p) and the child (n,); None where they do not.

    Asked is each of some features, by Cochran's Q; of those that tell slopes apart counts the one that leaves least of
    the child. What a group shows counts the less, the less sure it is beside how much groups differ, as in a model of
    random effects. Groups of few rows have none of their own. ``tests`` are all that a program asks.

    References
    ----------
    Cochran, W. G. (1954). The combination of estimates from different experiments. Biometrics 10(1).
    DerSimonian, R. and Laird, N. (1986). Meta-analysis in clinical trials. Controlled Clinical Trials 7(3).
    """
    found: dict[str, tuple[float, Mapping[str, Sequence[FittedSlope]]]] = {}
    for name, groups in features.items():
        fits = dict(_fits(x, y, groups))
        if len(fits) > 1 and (slopes := _apart(list(fits.values()), tests)) is not None:
            left = [own.y - own.x @ slope for own, slope in zip(fits.values(), slopes, strict=True)]
            lost = sum(float(each @ each) for each in left) / sum(map(len, left))
            told = zip(fits.items(), slopes, left, strict=True)
            found[name] = lost, {group: _told(own, slope, rest) for (group, own), slope, rest in told}
    if not found:
        return None
    by = min(found, key=lambda name: found[name][0])
    return Strata(by, found[by][1])


def _fits(x: Floats, y: Floats, groups: Groups) -> Iterator[tuple[str, _Fit]]:
    """The fit of each group that has the rows for it, and of which all parents vary."""
    for group in np.unique(groups):
        rows = groups == group
        if rows.sum() < FEWEST * x.shape[1]:
            continue
        own = x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean()
        if (own[0].std(axis=0) > 0).all():
            yield str(group), _Fit(*least_squares(*own), *own)


def _apart(fits: Sequence[_Fit], tests: int) -> Floats | None:
    """The slopes (S, p) of groups of which some differ, drawn towards that of all; None where none does."""
    slopes, errors = (np.array(each) for each in zip(*((own.slopes, own.errors) for own in fits), strict=True))
    weights = 1.0 / np.maximum(errors, 1e-9 * np.abs(slopes).max() + 1e-300) ** 2
    mean = (weights * slopes).sum(axis=0) / weights.sum(axis=0)
    q, degrees = (weights * (slopes - mean) ** 2).sum(axis=0), len(fits) - 1
    between = weights.sum(axis=0) - (weights**2).sum(axis=0) / weights.sum(axis=0)
    variance = np.maximum(q - degrees, 0.0) / between
    drawn = mean + (slopes - mean) * variance / (variance + 1.0 / weights)
    differs = (chdtrc(degrees, q) * tests < CHANCE) & (np.abs(drawn - mean).max(axis=0) >= LEAST_APART * np.abs(mean))
    return np.where(differs, drawn, mean) if differs.any() else None


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
