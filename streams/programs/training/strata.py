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
"""What a slope is off at least, as a share of the median one: some groups follow exactly."""
NEARLY = 0.03
"""Parents cannot be told apart in a group where the others leave a smaller share of one: slopes would be anything."""


UNSURE = 0.5
"""A group whose slopes are off by more, as a share of those of all, has none of its own."""
HALVINGS = 50
"""Of the interval in which the variance between groups lies."""
TINY = 1e-150
"""Keeps quotients defined where nothing is left; its square is a number as well."""


class Groups(NamedTuple):
    """The number of the group of each of n rows, (n,), or -1 for no group, and the names of the groups, in order."""

    of: NDArray[np.intp]
    names: Sequence[str]


class FittedStrata(NamedTuple):
    """The groups by the feature ``by`` whose slopes differ: for each the slopes of the parents, in their order."""

    by: str
    groups: Mapping[str, Sequence[FittedSlope]]


class _Fit(NamedTuple):
    """Slopes and their standard errors (p,) in a group, and its centred numbers (n, p) and (n,)."""

    slopes: Floats
    errors: Floats
    x: Floats
    y: Floats

    def left(self, slopes: Floats) -> Floats:
        """What slopes (p,) leave of the child, (n,)."""
        return self.y - self.x @ slopes


def strata_of_child(
    x: Floats, y: Floats, slopes: Floats, features: Mapping[str, Groups], tests: int
) -> FittedStrata | None:
    """The groups in which slopes differ, of centred numbers of the parents (n, p) and the child (n,), or None.

    Asked is each of some features, by Cochran's Q, and how far its groups are from the ``slopes`` (p,) of all. Of those
    that tell slopes apart counts the one whose slopes explain most, by the Bayesian information criterion. What a group
    shows counts the less, the less sure it is beside how much groups differ, as in a model of random effects. Groups of
    few rows, and those of which little is sure, have none of their own. ``tests`` are all that a program asks.

    References
    ----------
    Cochran, W. G. (1954). The combination of estimates from different experiments. Biometrics 10(1).
    Paule, R. C. and Mandel, J. (1982). Consensus values and weighting factors. Journal of Research of the NBS 87(5).
    Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6(2).
    """
    found: dict[str, tuple[float, Mapping[str, Sequence[FittedSlope]]]] = {}
    for name, groups in features.items():
        fits = dict(_fits(x, y, slopes, groups))
        of_groups = _apart(list(fits.values()), slopes, tests) if len(fits) > 1 else None
        if of_groups is None:
            continue
        left = [fit.left(slope) for fit, slope in zip(fits.values(), of_groups, strict=True)]
        before, after = (
            sum(float(residual @ residual) for residual in some)
            for some in ((fit.left(slopes) for fit in fits.values()), left)
        )
        rows = sum(map(len, left))
        gained = rows * math.log(max(before, TINY) / max(after, TINY)) - of_groups.size * math.log(rows)
        fitted = zip(fits.items(), of_groups, left, strict=True)
        found[name] = (
            -gained,
            {groups.names[number]: _with_deviations(fit, slope, rest) for (number, fit), slope, rest in fitted},
        )
    if not found:
        return None
    by = min(found, key=lambda name: found[name][0])
    return FittedStrata(by, found[by][1])


def _fits(x: Floats, y: Floats, of_all: Floats, groups: Groups) -> Iterator[tuple[int, _Fit]]:
    """The fit of each group that has the rows for it, whose parents can be told apart, and whose slopes are sure."""
    for number in range(len(groups.names)):
        rows = groups.of == number
        if rows.sum() < FEWEST * x.shape[1]:
            continue
        centred = x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean()
        if not are_apart(centred[0], NEARLY):
            continue
        fit, sd = _Fit(*robust(*centred), *centred), centred[0].std(axis=0)
        if (fit.errors * sd).max() <= UNSURE * (np.abs(of_all) * sd).max():
            yield number, fit


def _apart(fits: Sequence[_Fit], of_all: Floats, tests: int) -> Floats | None:
    """The slopes (S, p) of groups of which some differ, drawn towards their mean; None where none does."""
    slopes, errors = (np.array(values) for values in zip(*((fit.slopes, fit.errors) for fit in fits), strict=True))
    scale = np.maximum(np.median(np.abs(slopes), axis=0), np.abs(of_all))
    variances = np.maximum(errors, LEAST_ERROR * scale + TINY) ** 2
    weights, degrees = 1.0 / variances, len(fits) - 1
    q = (weights * (slopes - np.average(slopes, axis=0, weights=weights)) ** 2).sum(axis=0)
    among = _variance_of_groups(slopes, variances)
    mean = np.average(slopes, axis=0, weights=1.0 / (variances + among))
    drawn = mean + (slopes - mean) * among / (among + variances)
    is_far = np.abs(drawn - of_all).max(axis=0) >= LEAST_APART * np.abs(of_all)
    return drawn if (is_far & (chdtrc(degrees, q) * tests < CHANCE)).any() else None


def _variance_of_groups(slopes: Floats, variances: Floats) -> Floats:
    """How much the slopes (S, p) of groups differ beside their own variances (S, p): (p,), by Paule and Mandel."""
    least, most = np.zeros(slopes.shape[1]), np.ptp(slopes, axis=0) ** 2 * len(slopes) / (len(slopes) - 1)
    for _ in range(HALVINGS):
        among = (least + most) / 2.0
        weights = 1.0 / (variances + among)
        mean = np.average(slopes, axis=0, weights=weights)
        is_more = (weights * (slopes - mean) ** 2).sum(axis=0) > len(slopes) - 1
        least, most = np.where(is_more, among, least), np.where(is_more, most, among)
    return np.asarray(least)


def _with_deviations(fit: _Fit, slopes: Floats, left: Floats) -> Sequence[FittedSlope]:
    deviations = left.std() / fit.x.std(axis=0)
    return [FittedSlope(*slope) for slope in zip(slopes.tolist(), deviations.tolist(), strict=True)]


def are_apart(x: Floats, least: float) -> bool:
    """Whether centred numbers (n, k) vary, and of none the others leave a smaller share than the ``least``."""
    sd = x.std(axis=0)
    return bool((sd > 0).all()) and np.linalg.matrix_rank(x / sd, tol=least * len(x) ** 0.5) == x.shape[1]


def least_squares(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Slopes (k,) and their standard errors, of centred numbers (n, k) and (n,) whose errors are alike."""
    slopes, inverse, left = _solved(x, y)
    return slopes, np.sqrt((left @ left) / max(len(y) - x.shape[1] - 1, 1) * np.diag(inverse))


def robust(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Slopes (k,) and their standard errors, of centred numbers (n, k) and (n,), as where slopes differ between people.

    HC3 of MacKinnon and White (1985), Journal of Econometrics 29(3).
    """
    slopes, inverse, left = _solved(x, y)
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x) + 1.0 / len(x)
    spread = x * (left / np.maximum(1.0 - leverage, TINY))[:, np.newaxis]
    return slopes, np.sqrt(np.diag(inverse @ (spread.T @ spread) @ inverse))


def _solved(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes (k,), the inverse of x'x (k, k), and what is left (n,)."""
    sd = x.std(axis=0)
    scaled = x / sd
    slopes = np.linalg.lstsq(scaled, y, rcond=None)[0] / sd
    return slopes, np.linalg.pinv(scaled.T @ scaled) / np.outer(sd, sd), y - x @ slopes
