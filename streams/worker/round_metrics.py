"""Metrics of programs with limited places: their rounds, promises and coverage."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import get_args

from prometheus_client import Gauge

from ...schemas.events import Drifted, PromiseStatus
from ..engine.rounds.state import ProgramRounds
from ..metrics import Family, Metrics

AGES = ("0", "1", "2", "3", "4", "5-9", "10+")
"""The labels of a promise's age: how many rounds have been closed since its own."""
_YOUNGEST = (0, 1, 2, 3, 4, 5, 10)


class RoundMetrics:
    """Sets the gauges of rounds. They cost the same however many promises are open.

    A program has one shard, and so is shown by the one partition whose journal has its events.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._shown: defaultdict[int, set[str]] = defaultdict(set)
        self._gauges = (
            metrics.waiting_applications,
            metrics.applications_without_round,
            metrics.threshold_score,
            metrics.goal_score,
            metrics.coverage_achieved_ratio,
            metrics.coverage_nominal_ratio,
            metrics.coverage_people,
            metrics.last_round_timestamp_seconds,
            metrics.next_round_timestamp_seconds,
        )

    def show(self, partition: int, programs: Iterable[ProgramRounds]) -> None:
        """Set the gauges of the programs of a partition of which anything has happened."""
        for rounds in programs:
            name = rounds.program.name
            if rounds.has_begun:
                if name not in self._shown[partition]:
                    self._begin(name)
                    self._shown[partition].add(name)
                self._show(name, rounds)

    def forget(self, partition: int) -> None:
        """Forget the gauges of a partition that the worker no longer owns."""
        for name in self._shown.pop(partition, ()):
            for gauge in self._gauges:
                gauge.remove(name)
            for age in AGES:
                self._metrics.open_promises.remove(name, age)

    def _begin(self, name: str) -> None:
        """Let counters stand at 0 before they count: Prometheus sees no increase in a series that begins at 1."""
        self._metrics.counts["rounds"].labels(name)
        for status in get_args(PromiseStatus):
            self._metrics.counts["promises_ended"].labels(name, status)
        for drifted in get_args(Drifted):
            self._metrics.counts["drift_detected"].labels(name, drifted)

    def _show(self, name: str, rounds: ProgramRounds) -> None:
        metrics, ended = self._metrics, rounds.promise_counts
        next_ms, waiting = rounds.next_end_ms, len(rounds.pool)
        metrics.waiting_applications.labels(name).set(waiting)
        is_announced = rounds.calendar is not None or next_ms is not None
        metrics.applications_without_round.labels(name).set(0 if is_announced else waiting)
        metrics.coverage_nominal_ratio.labels(name).set(rounds.capacity.coverage)
        metrics.coverage_people.labels(name).set(ended.reached)
        _set(metrics.coverage_achieved_ratio, name, ended.coverage)
        _set(metrics.threshold_score, name, rounds.threshold)
        _set(metrics.goal_score, name, rounds.goal)
        _set(metrics.last_round_timestamp_seconds, name, _seconds(rounds.last_end_ms))
        can_close_ms = None if next_ms is None else next_ms + rounds.program.lateness_ms
        _set(metrics.next_round_timestamp_seconds, name, _seconds(can_close_ms))
        for age, count in _by_age(rounds).items():
            metrics.open_promises.labels(name, age).set(count)


def _set(gauge: Family[Gauge], name: str, value: float | None) -> None:
    """Set a gauge; None removes it."""
    if value is None:
        gauge.remove(name)
    else:
        gauge.labels(name).set(value)


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else time_ms / 1000


def _by_age(rounds: ProgramRounds) -> Counter[str]:
    ages = Counter(dict.fromkeys(AGES, 0))
    for number, count in rounds.promised_scores.in_round.items():
        # A round that is being closed gives promises before it counts as the last one.
        ages[AGES[bisect_right(_YOUNGEST, max(0, rounds.last_number - number)) - 1]] += count
    return ages
