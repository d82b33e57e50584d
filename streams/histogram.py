"""A Prometheus histogram that takes observations by the thousand: one at a time costs a microsecond each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from prometheus_client import utils
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

bucket_name: Callable[[float], str] = utils.floatToGoString


class ManyHistogram(Collector):
    """With one label; ``buckets`` are the upper bounds, ascending, without infinity."""

    def __init__(self, name: str, documentation: str, label: str, buckets: Sequence[float]) -> None:
        self._name, self._documentation, self._label = name, documentation, label
        self._bounds = np.array(buckets)
        self._names = [bucket_name(bound) for bound in (*buckets, float("inf"))]
        self._counts: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, label: str, values: Sequence[float]) -> None:
        """Count these values in, for one value of the label."""
        places = np.searchsorted(self._bounds, values, side="left")
        counts = np.bincount(places, minlength=len(self._names))
        self._counts[label] = self._counts.get(label, 0) + counts
        self._sums[label] = self._sums.get(label, 0.0) + sum(values)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """As the registry asks for it."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        for label, counts in self._counts.items():
            cumulative = np.cumsum(counts).tolist()
            family.add_metric([label], list(zip(self._names, cumulative, strict=True)), self._sums[label])
        yield family
