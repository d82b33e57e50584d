"""Metrics of expectations: predicted against observed rewards, and the beliefs about features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from prometheus_client import Gauge

from ..engine.rewards.fates import REWARDS
from ..engine.rewards.summary import RewardsSummary, joined, summary_of
from ..engine.rewards.watch import DECILES, RewardWatch
from ..engine.shards import ShardKey
from ..engine.state import PartitionState
from ..metrics import Family, Metrics


class RewardMetrics:
    """Sets the gauges of programs whose learner expects rewards, over all their shards on this worker.

    Outcomes are added up. Of a feature that belief is shown which is most certain.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._by_tenth = metrics.recent_outcomes, metrics.recent_predicted_rewards, metrics.recent_observed_rewards
        self._of_features = metrics.feature_omega, metrics.feature_omega_sd, metrics.feature_difficulty
        self._summaries: defaultdict[int, dict[ShardKey, RewardsSummary]] = defaultdict(dict)

    def show(self, state: PartitionState, changed: Collection[ShardKey]) -> None:
        """Set the gauges after a change of some shards of a partition."""
        summaries, programs = self._summaries[state.partition], set[str]()
        for shard in state.shards.values():
            if shard.key in changed or shard.key not in summaries:
                beliefs = shard.learner.beliefs
                if beliefs is not None:
                    names = [feature.name for feature in shard.program.spec.features]
                    watch = state.get(RewardWatch, *shard.key) or RewardWatch()
                    summaries[shard.key] = summary_of(watch, beliefs, names)
                    programs.add(shard.key.program)
        self._set(programs)

    def forget(self, partition: int) -> None:
        """Leave out a partition that the worker no longer owns."""
        gone = self._summaries.pop(partition, {})
        for key, summary in gone.items():
            for label, gauges in self._series(summary):
                for gauge in gauges:
                    gauge.remove(key.program, label)
        self._set({key.program for key in gone})

    def _set(self, programs: Collection[str]) -> None:
        for name in programs:
            parts = [
                summary
                for summaries in self._summaries.values()
                for key, summary in summaries.items()
                if key.program == name
            ]
            if not parts:
                continue
            # Prometheus sees no increase in a series that begins at 1.
            self._metrics.counts["drift_detected"].labels(name, REWARDS)
            for label, gauges in self._series(joined(parts)):
                for gauge, value in gauges.items():
                    gauge.labels(name, label).set(value)

    def _series(self, rewards: RewardsSummary) -> Iterator[tuple[str, dict[Family[Gauge], float]]]:
        """The gauges of each tenth and feature, with their values."""
        for decile, sums in zip(DECILES, rewards.tenths, strict=True):
            yield decile, dict(zip(self._by_tenth, sums, strict=True))
        for feature in rewards.features:
            yield feature.feature, dict(zip(self._of_features, feature[1:4], strict=True))
