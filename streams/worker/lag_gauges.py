"""The lag of a worker's partitions as gauges."""

from __future__ import annotations

from collections.abc import Set

from ..metrics import Metrics
from ..records import Lag, TopicPartition


class LagGauges:
    """Shows how far behind each partition is, as long as the worker owns it."""

    def __init__(self, metrics: Metrics, lag: Lag) -> None:
        self._gauges, self._lag = metrics.lag_records, lag
        self._shown: Set[TopicPartition] = frozenset()

    def show(self, owned: Set[TopicPartition]) -> None:
        """Set the gauges of these partitions, and remove those of others: their next owner shows them."""
        for partition in self._shown - owned:
            self._gauges.remove(*partition)
        for partition in owned:
            behind = self._lag.lag(partition)
            if behind is not None:
                self._gauges.labels(*partition).set(behind)
        self._shown = owned
