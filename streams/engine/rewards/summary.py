"""Summaries of expectations: predicted against observed rewards, and the beliefs of learners about features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ....agents.choices import FeatureBeliefs
from ....agents.choices.residual import FEATURE_SD
from .watch import RewardWatch, calibration_error

CERTAIN = 2.0
"""Standard deviations by which a feature must differ from what is expected to be named."""
USUAL = FEATURE_SD["omega"]
"""By how much features help less than labels say where nothing is wrong: one that does by no more is not named."""


class FeatureSummary(NamedTuple):
    """The belief about one feature; ``omega`` is 0 where it helps as expected, 1 where it does not help at all.

    ``difficulty`` is how many times as hard as assumed its changes are, ``log_difficulty_sd`` the standard deviation of
    its logarithm.
    """

    feature: str
    omega: float
    omega_sd: float
    difficulty: float
    log_difficulty_sd: float

    @property
    def least_omega(self) -> float:
        """Omega at the least, with some certainty."""
        return self.omega - CERTAIN * self.omega_sd

    @property
    def helps_less(self) -> bool:
        """Whether it certainly helps less than expected, by more than is usual."""
        return self.least_omega > USUAL

    @property
    def is_unexpected(self) -> bool:
        """Whether it certainly helps less than expected, or is certainly harder or easier to change."""
        return self.helps_less or abs(math.log(self.difficulty)) > CERTAIN * self.log_difficulty_sd


class RewardsSummary(NamedTuple):
    """A program whose learner expects rewards. ``tenths`` are outcomes, the sum of what was predicted and that of the
    rewards, by tenths of the prediction. ``drifts`` were found, the last at the event time ``drift_ms``.

    ``early`` outcomes came before the first window closed: until then the people of whom nothing is heard are missing
    among them, so they are in no tenth.

    ``features`` are those of which outcomes tell something, the one first that most certainly helps less than expected.
    ``calibration_error`` is the mean distance of predicted and observed rewards over tenths; None without outcomes.
    """

    tenths: tuple[tuple[int, float, float], ...]
    drifts: int
    drift_ms: int | None
    features: tuple[FeatureSummary, ...]
    early: int = 0
    calibration_error: float | None = None

    @property
    def totals(self) -> tuple[int, float, float]:
        """Outcomes, predicted and observed rewards, all added up."""
        outcomes, predicted, observed = zip(*self.tenths, strict=True)
        return sum(outcomes), sum(predicted), sum(observed)


def joined(parts: Sequence[RewardsSummary]) -> RewardsSummary:
    """The summary of several shards or ledgers: outcomes added up, and of each feature the most certain belief."""
    sums = np.sum([part.tenths for part in parts], axis=0).tolist()
    tenths = tuple((int(outcomes), predicted, observed) for outcomes, predicted, observed in sums)
    best: dict[str, FeatureSummary] = {}
    for feature in (feature for part in parts for feature in part.features):
        best[feature.feature] = min(feature, best.get(feature.feature, feature), key=lambda summary: summary.omega_sd)
    features = sorted(best.values(), key=lambda summary: -summary.least_omega)
    last_ms = max((part.drift_ms for part in parts if part.drift_ms is not None), default=None)
    drifts, early = sum(part.drifts for part in parts), sum(part.early for part in parts)
    return RewardsSummary(tenths, drifts, last_ms, tuple(features), early, _calibration_error(tenths))


def summary_of(watch: RewardWatch, beliefs: FeatureBeliefs, names: Iterable[str]) -> RewardsSummary:
    """The summary of one shard, whose features have these names."""
    *believed, seen = (part.tolist() for part in beliefs)
    named = zip(zip(names, *believed, strict=True), seen, strict=True)
    features = tuple(FeatureSummary(*belief) for belief, is_seen in named if is_seen)
    tenths = tuple(map(tuple, watch.by_tenth().T.tolist()))
    return RewardsSummary(tenths, watch.drifts, watch.drift_ms, features, watch.early, _calibration_error(tenths))


def _calibration_error(tenths: Sequence[tuple[int, float, float]]) -> float | None:
    sums = np.array(tenths).T
    return calibration_error(sums) if sums[0].any() else None
