"""The margin of a model: how far above the threshold an option must score, so that retrained models accept it too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ....agents.goals import ThresholdGoal, accepted
from ....schemas.spec import ProgramSpec
from ...advice import ACCEPTED
from ..margin import uses_margin
from ..models.scoring import scorer
from .offered import Offered, lasting_share, offered_to, relative_cost
from .retrains import refitted
from .unsaved_program import Floats, Score, UnsavedProgram

Tell = Callable[[str], None]

RETRAINED = 20
PEOPLE = 50
STEP = 0.05
"""Margins are multiples of it."""
LEAST_SERVED = 0.9
"""Of the people who have an option without a margin, the share that a margin must leave with one."""
MOST_CHANGES = 2.0
"""The most changes that the cheapest options may need on average, unless they need more without a margin."""


DEAREST = 1.25
"""The most that options which are to help may cost with a margin, as a multiple of what they cost without."""


class MeasuredMargin(NamedTuple):
    """A margin, and the share of pairs of a cheapest option and a retrained model in which it accepts the option.

    The share is None where nobody has an option, even at the bare threshold.
    """

    margin: float
    accepted: float | None


class WantedMargin(NamedTuple):
    """The margin that a spec leaves to training, unset where it leaves none.

    ``accepted`` is the share that was measured of the cheapest options; None where it was not.
    """

    margin: float | UnsetType
    accepted: float | None = None


def retrained(
    estimator: Any,
    X: Floats,
    labels: NDArray[np.int64],
    random: np.random.RandomState,
    tell: Tell = lambda _: None,
) -> list[Score]:
    """The scores of ``RETRAINED`` models: the estimator fitted again, each on a resample of the rows (n, D) and (n,).

    Give rows that the estimator was not fitted on: models of resamples of its own rows agree with it too much. It takes
    long: ``tell`` says so before.
    """
    tell(f"fitting {RETRAINED} more models on resamples of the data, to measure the margin")
    fits = islice(refitted(estimator, X, labels, len(X), random), RETRAINED)
    return [scorer(fitted, X.shape[1]).score for fitted in fits]


def wanted_margin(
    spec: ProgramSpec,
    unsaved: UnsavedProgram,
    refit: Callable[[], Sequence[Score]],
    rejected: Floats,
) -> WantedMargin:
    """The margin that the spec leaves to training, and what was measured of it.

    What options that are to help have to do with it is measured with all other rules beside it (``lasting.py``).
    ``refit`` gives the models by which it is measured, which may take long.
    """
    if not uses_margin(spec):
        return WantedMargin(UNSET)
    if spec.policy.objective != "cost":
        return WantedMargin(affordable_margin(unsaved, refit(), rejected))
    return WantedMargin(*smallest_margin(unsaved, refit(), rejected))


def affordable_margin(unsaved: UnsavedProgram, others: Sequence[Score], rejected: Floats) -> float:
    """The smallest margin at which nine of ten options of the first of ``rejected`` people (n, D) last.

    That is under ``others``, of people whom these reject unchanged. Only margins count that make options no dearer than
    ``DEAREST``, and leave nine of ten people one; where none of them is enough, it is the one by which the most last.
    """
    people, threshold = rejected[:PEOPLE], unsaved.threshold
    bare: Offered | None = None
    best, most = 0.0, 0.0
    for number in range(max(1, round((1.0 - threshold) / STEP))):
        offered = offered_to(
            people, unsaved, unsaved.vetting_under(unsaved.score, ThresholdGoal(threshold, number * STEP))
        )
        bare = bare or offered
        if len(np.unique(offered.owner)) < max(1, LEAST_SERVED * len(np.unique(bare.owner))):
            break
        if relative_cost(offered, bare) > DEAREST:
            break
        if (share := lasting_share(people, offered, others, threshold)) is None:
            break
        if share > most:
            best, most = round(number * STEP, 9), share
        if share >= ACCEPTED:
            break
    return best


def smallest_margin(unsaved: UnsavedProgram, others: Sequence[Score], rejected: Floats) -> MeasuredMargin:
    """The smallest margin at which ``others`` accept the cheapest options of the first of ``rejected`` people (n, D).

    Where no margin is enough, it is the largest that still leaves nine of ten an option, of two changes on average.
    """
    people, threshold = rejected[:PEOPLE], unsaved.threshold
    margin, share, served = 0.0, None, 0
    for number in range(max(1, round((1.0 - threshold) / STEP))):
        proposals = unsaved.vetting_under(unsaved.score, ThresholdGoal(threshold, number * STEP)).propose(people)
        owner, targets = unsaved.best_options(proposals, people, 1)
        served = served or len(targets)
        if not len(targets) or len(targets) < LEAST_SERVED * served:
            break
        if number and unsaved.changes(owner, targets, people).mean() > MOST_CHANGES:
            break
        margin = number * STEP
        share = float(np.mean([accepted(other(targets), threshold).mean() for other in others]))
        if share >= ACCEPTED:
            break
    return MeasuredMargin(round(margin, 9), share)
