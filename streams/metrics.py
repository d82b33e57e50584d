"""What a worker measures, for Prometheus: own registry, base units, and no person's id in a label.

metrics = Metrics()
metrics.counts["recourses"].labels("personal-loan", "recourse").inc(12)
text = metrics.expose()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from .. import __version__
from .engine.counts import COUNTS
from .histogram import ManyHistogram


class Declared(NamedTuple):
    """What a metric is, for the documentation."""

    name: str
    type: str
    labels: tuple[str, ...]
    documentation: str


M = TypeVar("M", Counter, Gauge, Histogram)

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
DELAY_DAYS = (1.0, 3.0, 7.0, 14.0, 30.0, 60.0, 90.0, 180.0, 365.0)
DELAY_SECONDS = (1.0, 10.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, *(days * DAY for days in DELAY_DAYS))
DELAY_STEPS = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 10_000.0)
CHUNK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CHUNK_RECORDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
SNAPSHOT_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, MINUTE, 5 * MINUTE)
LATENCY_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, MINUTE, 10 * MINUTE, HOUR)

# The `..._created` companions double the series and nobody asks for them.
without_created_series: Callable[[], None] = disable_created_metrics
without_created_series()


class Family(Generic[M]):
    """A metric with labels, whose children are made once and then found with one dictionary look-up."""

    def __init__(self, metric: M) -> None:
        self._metric: M = metric
        self._children: dict[tuple[str | int, ...], M] = {}

    def labels(self, *values: str | int) -> M:
        """The child with these label values, in the order of the metric's labels."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = self._metric.labels(*values)
        return child

    def remove(self, *values: str | int) -> None:
        """Forget a child, say of a partition that this worker no longer owns."""
        if self._children.pop(values, None) is not None:
            self._metric.remove(*values)


class Metrics:
    """Every metric of a worker. Units are in the names: seconds, records, steps."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.declared: list[Declared] = []
        self._declare_counts()
        self._declare_calibration()
        self._declare_rewards()
        self._declare_audit()
        self._declare_questions()
        self._declare_delays()
        self._declare_progress()
        self._declare_rounds()
        self._declare_promises()
        self._declare_snapshots()

    def expose(self) -> bytes:
        """All metrics in Prometheus' text format 0.0.4."""
        return generate_latest(self.registry)

    def _declare_counts(self) -> None:
        """What ingest counts, and what the engine does, by the name of its count."""
        self.ingested = self._counter("ingested_records", "Records read from the input topics.", "topic")
        self.counts = {name: self._counter(name, count.text, *count.labels) for name, count in COUNTS.items()}

    def _declare_calibration(self) -> None:
        """Three sums for each tenth of the execution probability, so that their ratios are means over any time."""
        labels = "program", "decile"
        self.predicted_executions = self._counter(
            "predicted_executions", "Sum of the execution probabilities of options whose reward is known.", *labels
        )
        self.observed_rewards = self._counter("observed_rewards", "Sum of the rewards of these options.", *labels)
        self.resolved_options = self._counter("resolved_options", "Options whose reward is known.", *labels)

    def _declare_rewards(self) -> None:
        """Programs whose learner expects rewards only. Three sums, so that those of several workers can be added."""
        labels = "program", "decile"
        self.recent_outcomes = self._gauge(
            "recent_outcomes",
            "Options of which the reward is known and was predicted, the last of each shard.",
            *labels,
        )
        self.recent_predicted_rewards = self._gauge(
            "recent_predicted_rewards", "Sum of the rewards that were predicted of these options.", *labels
        )
        self.recent_observed_rewards = self._gauge(
            "recent_observed_rewards", "Sum of the rewards of these options.", *labels
        )
        labels = "program", "feature"
        self.feature_omega = self._gauge(
            "feature_omega",
            "How much less a feature's changes help than the labels say: 0 as expected, 1 not at all.",
            *labels,
        )
        self.feature_omega_sd = self._gauge("feature_omega_sd", "Standard deviation of omega.", *labels)
        self.feature_difficulty = self._gauge(
            "feature_difficulty", "How many times as hard as assumed a feature's changes are.", *labels
        )

    def _declare_audit(self) -> None:
        """Programs with an ``audit: true`` only. Sums, so that their ratios are means over any time."""
        labels = "program", "feature", "group"
        self.audited_people = self._counter(
            "audited_people", "Rejected people, by their value of a feature with `audit: true`.", *labels
        )
        self.audited_recourses = self._counter("audited_recourses", "Those of them who got an option.", *labels)
        self.audited_cost = self._counter("audited_cost", "Sum of the costs of their easiest options.", *labels)
        self.audited_satisfied = self._counter(
            "audited_satisfied",
            "Sum of the shares of sampled people whom their options satisfy; 0 where costs are not sampled.",
            *labels,
        )

    def _declare_questions(self) -> None:
        """Programs that ask only. Sums of regrets, so that their ratios are means over any time."""
        self.open_questions = self._gauge(
            "open_questions",
            "Questions that wait for an answer, by how long ago the person was asked first: an hour, a day or a week "
            "at most, or older.",
            *("program", "age"),
        )
        self.regrets = self._counter(
            "regrets", "People who were asked, and have picked an option of their recourse.", "program"
        )
        self.regrets_told = self._counter(
            "regrets_told", "Sum of the regrets of their recourses, in units of cost.", "program"
        )
        self.regrets_seen = self._counter(
            "regrets_seen", "Sum of what these regrets are expected to be since the option was picked.", "program"
        )

    def _declare_delays(self) -> None:
        self.outcome_delay_seconds = self._many(
            "outcome_delay_seconds", "Event time from a recourse to its outcome.", DELAY_SECONDS, "program"
        )
        self.outcome_delay_steps = self._many(
            "outcome_delay_steps", "Answers given between a recourse and its outcome.", DELAY_STEPS, "program"
        )
        self.recourse_latency_seconds = self._many(
            "recourse_latency_seconds",
            "From an application's record time to its answer's acknowledgement.",
            LATENCY_SECONDS,
            "program",
        )
        self.chunk_seconds = self._histogram("chunk_seconds", "Time of one stage of a chunk.", CHUNK_SECONDS, "stage")
        name, text = self._declare("chunk_records", "histogram", (), "Records in a chunk.")
        self.chunk_records = Histogram(name, text, buckets=CHUNK_RECORDS, registry=self.registry)

    def _declare_progress(self) -> None:
        self.lag_records = self._gauge("lag_records", "Records not read yet.", "topic", "partition")
        self.open_recourses = self._gauge("open_recourses", "Recourses that wait for their fate.", "program")
        self.waiting_events = self._gauge("waiting_events", "Events that wait for an earlier one.", "partition")
        self.watermark_timestamp_seconds = self._gauge(
            "watermark_timestamp_seconds", "Event time reached, since the epoch.", "partition"
        )
        self.expected_reward_mean = self._gauge(
            "expected_reward_mean", "Mean expected reward of the recourses, where a simulator knows it.", "program"
        )
        name, text = self._declare("ready", "gauge", (), "1 when the worker has caught up, else 0.")
        self.ready = Gauge(name, text, registry=self.registry)
        self._gauge("info", "The version that runs.", "version").labels(__version__).set(1)

    def _declare_rounds(self) -> None:
        """Programs with limited places. A time is a gauge, so that how long ago it is grows without the worker."""
        self.waiting_applications = self._gauge(
            "waiting_applications",
            "Applications whose round is not closed, those without a decision of another system included.",
            "program",
        )
        self.applications_without_round = self._gauge(
            "applications_without_round",
            "Applications that wait while no round is announced; 0 where the spec has a calendar.",
            "program",
        )
        self.open_promises = self._gauge(
            "open_promises", "Open promises, by the rounds closed since theirs.", "program", "age"
        )
        self.threshold_score = self._gauge(
            "threshold_score",
            "Lowest score that got a place in the last round that gave any; 0 where nobody was rejected.",
            "program",
        )
        self.goal_score = self._gauge(
            "goal_score", "Score that those who were rejected last are told to reach.", "program"
        )
        self._declare_coverage()
        self.last_round_timestamp_seconds = self._gauge(
            "last_round_timestamp_seconds", "When the last closed round ended.", "program"
        )
        self.next_round_timestamp_seconds = self._gauge(
            "next_round_timestamp_seconds",
            "When the earliest round that is not closed can be: its end plus the lateness; absent when none is due.",
            "program",
        )

    def _declare_coverage(self) -> None:
        self.coverage_achieved_ratio = self._gauge(
            "coverage_achieved_ratio",
            "Share of all who came back with their target score that got a place; absent before the first.",
            "program",
        )
        self.coverage_nominal_ratio = self._gauge("coverage_nominal_ratio", "The share that the spec says.", "program")
        self.coverage_people = self._gauge("coverage_people", "How many came back with their target score.", "program")

    def _declare_promises(self) -> None:
        """Programs whose options are promised only."""
        self.open_options = self._gauge("open_options", "Options that are promised and open.", "program")
        self.unseen_options = self._gauge(
            "unseen_options",
            "Open options that an unfinished revalidation has not looked at, those that need no look included.",
            "program",
        )
        self.revalidated_options = self._counter(
            "revalidated_options",
            "Open options under a new model, by what it means for them; counted when the revalidation is finished.",
            "program",
            "result",
        )
        self.broken_options = self._gauge(
            "broken_options", "Options that the model of the last finished revalidation has broken.", "program", "model"
        )
        self.worst_margin = self._gauge(
            "worst_margin",
            "By how much the least score of the last finished revalidation that is accepted exceeds the threshold; "
            "absent when it scored none.",
            "program",
        )

    def _declare_snapshots(self) -> None:
        self.snapshot_timestamp_seconds = self._gauge(
            "snapshot_timestamp_seconds", "When the newest snapshot was taken, or nothing was new since.", "partition"
        )
        self.snapshot_seconds = self._histogram(
            "snapshot_seconds", "Time that a snapshot took, to take or to restore.", SNAPSHOT_SECONDS, "action"
        )
        self.snapshot_failures = self._counter(
            "snapshot_failures", "Snapshots that could not be taken, or were refused.", "action"
        )
        for action in ("take", "restore"):
            self.snapshot_failures.labels(action)

    def _counter(self, name: str, text: str, *labels: str) -> Family[Counter]:
        return Family(Counter(*self._declare(f"{name}_total", "counter", labels, text), labels, registry=self.registry))

    def _gauge(self, name: str, text: str, *labels: str) -> Family[Gauge]:
        return Family(Gauge(*self._declare(name, "gauge", labels, text), labels, registry=self.registry))

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Family[Histogram]:
        named = self._declare(name, "histogram", labels, text)
        return Family(Histogram(*named, labels, buckets=buckets, registry=self.registry))

    def _many(self, name: str, text: str, buckets: tuple[float, ...], label: str) -> ManyHistogram:
        histogram = ManyHistogram(*self._declare(name, "histogram", (label,), text), label, buckets)
        self.registry.register(histogram)
        return histogram

    def _declare(self, name: str, kind: str, labels: tuple[str, ...], text: str) -> tuple[str, str]:
        self.declared.append(Declared(f"onward_{name}", kind, labels, text))
        return f"onward_{name}", text
