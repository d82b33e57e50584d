"""Metrics of a partition processor's chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ...schemas.events import NoRecourse, Recourse
from ..engine.portion import PortionChanges
from ..engine.promises.state import PromiseState
from ..engine.rewards.fates import ENDING
from ..engine.rounds.state import ProgramRounds
from ..engine.state import PartitionState
from ..metrics import Metrics
from ..outputs.emission import Emission
from ..programs.program import Program
from .audit_metrics import begin_audits
from .promise_metrics import PromiseMetrics
from .question_metrics import CountDue, QuestionMetrics
from .reward_metrics import RewardMetrics
from .round_metrics import RoundMetrics

M = TypeVar("M")
_ANSWERS = frozenset({Recourse, NoRecourse})


class ProcessorMetrics:
    """Turns effects into metrics."""

    def __init__(self, metrics: Metrics, programs: Mapping[str, Program], clock_ms: Callable[[], int]) -> None:
        self._metrics = metrics
        self._programs = programs
        self._clock_ms = clock_ms
        self._rounds = RoundMetrics(metrics)
        self._promises = PromiseMetrics(metrics, programs)
        self._rewards = RewardMetrics(metrics)
        self._questions = QuestionMetrics(metrics, programs)
        begin_audits(metrics, programs)
        for program in programs:
            # Prometheus sees no increase in a series that begins at 1.
            metrics.counts["models"].labels(program)

    def observe(
        self,
        state: PartitionState,
        effects: PortionChanges,
        published: Sequence[Emission],
        entries: int,
        seconds: Mapping[str, float],
        open_recourses: Counter[str],
    ) -> None:
        """Observe a portion of so many ``entries`` that was folded, published and written.

        ``seconds`` is the time that each of these steps took. ``open_recourses`` of the partition, by program, are
        brought up to date.
        """
        self._observe_chunk(entries, seconds)
        self.count(effects, open_recourses)
        self._promises.count(state.partition, effects)
        self._rewards.show(state, effects.shards)
        self._observe_latencies(published)

    def observe_commit(
        self,
        state: PartitionState,
        seconds: float,
        open_recourses: Iterable[Counter[str]],
        count_due: CountDue,
    ) -> None:
        """Observe a commit of the ledger, which covers one portion or several, and set the gauges of the partition.

        ``open_recourses`` are those of all partitions, by program. The ledger counts its own questions, by
        ``count_due``.
        """
        self._metrics.chunk_seconds.labels("commit").observe(seconds)
        self._questions.show(state, count_due)
        self._show(state, open_recourses)

    def _observe_chunk(self, entries: int, seconds: Mapping[str, float]) -> None:
        self._metrics.chunk_records.observe(entries)
        for step, time in seconds.items():
            self._metrics.chunk_seconds.labels(step).observe(time)

    def count(self, effects: PortionChanges, open_recourses: Counter[str]) -> None:
        """Count effects; bring the number of a partition's open recourses, by program, up to date."""
        for (name, *labels), times in effects.counts.items():
            _observed(self._metrics.counts, name).labels(*labels).inc(times)
            if name == "recourses" and labels[1] == "recourse":
                open_recourses[labels[0]] += int(times)
            elif name == "fates" and labels[1] in ENDING:
                open_recourses[labels[0]] -= int(times)
        for (name, program), values in effects.observed.items():
            _observed(self._metrics.histograms, name).observe(program, values)

    def _observe_latencies(self, published: Sequence[Emission]) -> None:
        """Observe the time from application to answer."""
        metrics, now_ms = self._metrics, self._clock_ms()
        sent_ms: dict[str, list[float]] = {}
        for emission in published:
            if emission.struct in _ANSWERS:
                sent_ms.setdefault(emission.program, []).append(emission.timestamp_ms)
        for program, times_ms in sent_ms.items():
            latencies = np.maximum(0.0, now_ms - np.array(times_ms, dtype=np.float64)) / 1000
            metrics.recourse_latency_seconds.observe(program, latencies.tolist())

    def _show(self, state: PartitionState, open_recourses: Iterable[Counter[str]]) -> None:
        """Set the gauges of a partition, and of the open recourses of all partitions."""
        metrics, totals = self._metrics, sum(open_recourses, Counter[str]())
        metrics.waiting_events.labels(state.partition).set(len(state.waiting))
        watermark_ms = min(state.watermark_ms(program) or 0 for program in self._programs.values())
        if watermark_ms:
            metrics.watermark_timestamp_seconds.labels(state.partition).set(watermark_ms / 1000)
        for program in self._programs:
            metrics.open_recourses.labels(program).set(totals[program])
        self._rounds.show(state.partition, state.all_of(ProgramRounds))
        self._promises.show(state.partition, state.all_of(PromiseState))

    def forget(self, partition: int) -> None:
        """Forget a partition that the worker no longer owns."""
        self._metrics.waiting_events.remove(partition)
        self._metrics.watermark_timestamp_seconds.remove(partition)
        self._rounds.forget(partition)
        self._promises.forget(partition)
        self._questions.forget(partition)
        self._rewards.forget(partition)


def _observed(metrics: Mapping[str, M], name: str) -> M:
    if name not in metrics:
        raise LookupError(f"{name!r} is observed: declare it in OBSERVATIONS of streams/engine/metrics.py")
    return metrics[name]
