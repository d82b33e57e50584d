"""Metrics of a partition processor's chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ...schemas.events import NoRecourse, Recourse
from ..engine.portion import Effects
from ..engine.promises.state import PromiseState
from ..engine.rewards.fates import ENDING
from ..engine.rewards.watch import tenth_of
from ..engine.rounds.state import ProgramRounds
from ..engine.state import PartitionState
from ..metrics import Metrics
from ..outputs.emission import Emission
from ..programs.program import Program
from .audit_metrics import AuditMetrics
from .promise_metrics import PromiseMetrics
from .question_metrics import CountDue, QuestionMetrics
from .reward_metrics import DECILES, RewardMetrics
from .round_metrics import RoundMetrics

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
        self._audit = AuditMetrics(metrics, programs)
        self._questions = QuestionMetrics(metrics, programs)
        for program in programs:
            # Prometheus sees no increase in a series that begins at 1.
            metrics.counts["models"].labels(program)

    def observe(
        self,
        state: PartitionState,
        effects: Effects,
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
        self._observe_delays(effects, published)

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

    def count(self, effects: Effects, open_recourses: Counter[str]) -> None:
        """Count effects; bring the number of a partition's open recourses, by program, up to date."""
        for (name, label, detail), times in effects.counts.items():
            counter = self._metrics.counts.get(name)
            if counter is None:
                raise LookupError(f"{name!r} is counted: declare it in COUNTS of streams/engine/counts.py")
            counter.labels(*filter(None, (label, detail))).inc(times)
            if (name, detail) == ("recourses", "recourse"):
                open_recourses[label] += times
            elif name == "fates" and detail in ENDING:
                open_recourses[label] -= times
        self._count_predictions(effects)
        self._count_acting(effects)
        self._audit.count(effects.audited)
        self._questions.count(effects.regrets)

    def _observe_delays(self, effects: Effects, published: Sequence[Emission]) -> None:
        """Observe the delays of outcomes, and the time from application to answer."""
        metrics, now_ms = self._metrics, self._clock_ms()
        for program in {program for program, _, _ in effects.delays}:
            delays = [(ms / 1000, steps) for name, ms, steps in effects.delays if name == program]
            metrics.outcome_delay_seconds.observe(program, [seconds for seconds, _ in delays])
            metrics.outcome_delay_steps.observe(program, [steps for _, steps in delays])
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
        self._rounds.show(state.partition, state.each(ProgramRounds))
        self._promises.show(state.partition, state.each(PromiseState))

    def forget(self, partition: int) -> None:
        """Forget a partition that the worker no longer owns."""
        self._metrics.waiting_events.remove(partition)
        self._metrics.watermark_timestamp_seconds.remove(partition)
        self._rounds.forget(partition)
        self._promises.forget(partition)
        self._questions.forget(partition)
        self._rewards.forget(partition)

    def _count_acting(self, effects: Effects) -> None:
        """Count how probably people were thought to act of whom it became known, and who did."""
        metrics = self._metrics
        for program, stated, acted in effects.acting:
            metrics.known_acting.labels(program).inc()
            metrics.stated_acting.labels(program).inc(stated)
            metrics.seen_acting.labels(program).inc(acted)

    def _count_predictions(self, effects: Effects) -> None:
        """Count what was predicted and observed of the options whose reward is known."""
        metrics = self._metrics
        pairs: dict[str, list[tuple[float, float]]] = {}
        for program, predicted, reward in effects.predictions:
            pairs.setdefault(program, []).append((predicted, reward))
        for program, of_program in pairs.items():
            predictions, rewards = np.array(of_program).T
            deciles = tenth_of(predictions)
            counts = np.bincount(deciles, minlength=len(DECILES))
            predicted_sums, reward_sums = np.bincount(deciles, predictions), np.bincount(deciles, rewards)
            for decile in np.flatnonzero(counts).tolist():
                labels = program, DECILES[decile]
                metrics.predicted_executions.labels(*labels).inc(predicted_sums.item(decile))
                metrics.observed_rewards.labels(*labels).inc(reward_sums.item(decile))
                metrics.resolved_options.labels(*labels).inc(counts.item(decile))
