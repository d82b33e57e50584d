"""Metrics of programs whose options are promised: the number of open ones, and the results of their revalidation.

Results are counted when the revalidation of the open options is finished, from the events that tell them. The counter
has no label for the model, because each version would add series for ever. A gauge names the version: only that of the
last finished one has a series.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import get_args

from ...schemas.events import PromiseStatus, Revalidation
from ..engine.portion import PortionChanges
from ..engine.promises.state import PromiseState
from ..metrics import Metrics
from ..programs.program import Program

log = logging.getLogger(__name__)

RESULTS = ("cleared", "accepted", "honoured", "broken", "left")
"""The results for an open option under a new model: each has one of these."""


class PromiseMetrics:
    """Counts finished revalidations, and sets the gauges of promises, which are sums over the partitions of the worker.

    ``programs`` are all programs of the worker.
    """

    def __init__(self, metrics: Metrics, programs: Mapping[str, Program]) -> None:
        self._metrics = metrics
        self._names = [name for name, program in programs.items() if program.promises]
        self._open: dict[int, Counter[str]] = {}
        self._unseen: dict[int, Counter[str]] = {}
        self._last: defaultdict[int, dict[str, dict[int, Revalidation]]] = defaultdict(dict)
        """By partition, program and shard, what the last finished revalidation has found."""
        self._shown: set[tuple[str, str]] = set()
        for name in self._names:
            self._begin(name)

    def count(self, partition: int, effects: PortionChanges) -> None:
        """Count the revalidations that are finished, and log each of them."""
        if not self._names:
            return
        finished: defaultdict[tuple[str, str], list[Revalidation]] = defaultdict(list)
        for emission in effects.emissions:
            if emission.struct is Revalidation:
                event: Revalidation = emission.event
                finished[event.program, event.model].append(event)
        for (name, model), events in finished.items():
            counts = {result: sum(getattr(event, result) for event in events) for result in (*RESULTS, "replaced")}
            for result, options in counts.items():
                self._metrics.revalidated_options.labels(name, result).inc(options)
            latest = self._last[partition].setdefault(name, {})
            if any(event.model != model for event in latest.values()):
                latest.clear()
            latest.update((event.shard, event) for event in events)
            extra = {"program": name, "version": model, "partition": partition, **counts}
            log.info("looked at the open options under a new model", extra=extra)

    def show(self, partition: int, programs: Iterable[PromiseState]) -> None:
        """Set the gauges after a change of a partition."""
        if not self._names:
            return
        self._open[partition] = Counter({state.program.name: sum(state.open.values()) for state in programs})
        self._unseen[partition] = Counter(
            {state.program.name: 0 if state.scan is None else state.scan.unseen for state in programs}
        )
        self._set()

    def forget(self, partition: int) -> None:
        """Leave out a partition that the worker no longer owns."""
        for known in (self._open, self._unseen, self._last):
            known.pop(partition, None)
        if self._names:
            self._set()

    def _begin(self, name: str) -> None:
        """Let counters stand at 0 before they count: Prometheus sees no increase in a series that begins at 1."""
        for result in (*RESULTS, "replaced"):
            self._metrics.revalidated_options.labels(name, result)
        for status in get_args(PromiseStatus):
            self._metrics.counts["promises_ended"].labels(name, status)

    def _set(self) -> None:
        metrics = self._metrics
        for name in self._names:
            metrics.open_options.labels(name).set(_total(self._open.values(), name))
            metrics.unseen_options.labels(name).set(_total(self._unseen.values(), name))
        broken = Counter[tuple[str, str]]()
        margins: defaultdict[str, list[float]] = defaultdict(list)
        for event in self._events():
            broken[event.program, event.model] += event.broken
            if event.worst_margin is not None:
                margins[event.program].append(event.worst_margin)
        for labels in self._shown - broken.keys():
            metrics.broken_options.remove(*labels)
        self._shown = set(broken)
        for labels, options in broken.items():
            metrics.broken_options.labels(*labels).set(options)
        for name in self._names:
            if margins[name]:
                metrics.worst_margin.labels(name).set(min(margins[name]))
            else:
                metrics.worst_margin.remove(name)

    def _events(self) -> Iterable[Revalidation]:
        for programs in self._last.values():
            for shards in programs.values():
                yield from shards.values()


def _total(counts: Iterable[Counter[str]], name: str) -> int:
    return sum(options[name] for options in counts)
