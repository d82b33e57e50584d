"""What a worker measures of expectations: predicted against observed rewards, and what is believed of features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.choices import FeatureBeliefs, most_certain
from ..engine.handlers.fates import REWARDS
from ..engine.reward_watch import TENTHS
from ..engine.state import PartitionState, Shard, ShardKey
from ..metrics import Metrics

DECILES = tuple(f"{low / TENTHS:.1f}-{(low + 1) / TENTHS:.1f}" for low in range(TENTHS))
"""The labels of the tenths of a probability; a bound belongs to the upper one."""


class _Found(NamedTuple):
    """What a shard has found: the names of its features, its outcomes by tenth (3, 10), its learner's beliefs."""

    features: tuple[str, ...]
    by_tenth: NDArray[np.float64]
    beliefs: FeatureBeliefs


class RewardMetrics:
    """Sets the gauges of programs whose learner expects rewards, over all their shards on this worker.

    Outcomes are added up. Of a feature that belief is shown which is most certain.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._by_tenth = metrics.recent_outcomes, metrics.recent_predicted_rewards, metrics.recent_observed_rewards
        self._of_features = metrics.feature_omega, metrics.feature_omega_sd, metrics.feature_difficulty
        self._found: defaultdict[int, dict[ShardKey, _Found]] = defaultdict(dict)

    def show(self, state: PartitionState, changed: Collection[ShardKey]) -> None:
        """Set the gauges after a change of some shards of a partition."""
        own, programs = self._found[state.partition], set[str]()
        for key, shard in state.shards.items():
            if key in changed or key not in own:
                beliefs = shard.learner.beliefs
                if beliefs is not None:
                    own[shard.key] = _found(shard, beliefs)
                    programs.add(shard.key.program)
        self._set(programs)

    def forget(self, partition: int) -> None:
        """Leave out a partition that the worker no longer owns."""
        gone = self._found.pop(partition, {})
        for key, found in gone.items():
            self._remove(key.program, found)
        self._set({key.program for key in gone})

    def _set(self, programs: Collection[str]) -> None:
        for name in programs:
            shards = [found for own in self._found.values() for key, found in own.items() if key.program == name]
            if shards:
                self._set_program(name, shards)

    def _set_program(self, name: str, shards: list[_Found]) -> None:
        # Prometheus sees no increase in a series that begins at 1.
        self._metrics.counts["drift_detected"].labels(name, REWARDS)
        for gauge, values in zip(self._by_tenth, np.sum([found.by_tenth for found in shards], axis=0), strict=True):
            for decile, value in zip(DECILES, values.tolist(), strict=True):
                gauge.labels(name, decile).set(value)
        omega, omega_sd, difficulty, seen = most_certain([found.beliefs for found in shards])
        features = shards[0].features
        for number in np.flatnonzero(seen).tolist():
            for gauge, value in zip(self._of_features, (omega, omega_sd, difficulty), strict=True):
                gauge.labels(name, features[number]).set(value.item(number))

    def _remove(self, name: str, found: _Found) -> None:
        for feature in found.features:
            for gauge in self._of_features:
                gauge.remove(name, feature)
        for decile in DECILES:
            for gauge in self._by_tenth:
                gauge.remove(name, decile)


def _found(shard: Shard, beliefs: FeatureBeliefs) -> _Found:
    features = tuple(feature.name for feature in shard.program.spec.features)
    return _Found(features, shard.watch.by_tenth(), beliefs)
