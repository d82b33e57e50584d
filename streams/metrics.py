"""The metrics of a worker, for Prometheus: own registry, base units, and no person's id in a label.

metrics = Metrics()
metrics.counts["recourses"].labels("personal-loan", "recourse").inc(12)
text = metrics.expose()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, cast

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
from .engine.metrics import HOUR, MINUTE, OBSERVATIONS
from .histogram import ManyHistogram


class Declared(NamedTuple):
    """A metric as it is declared; the documentation lists them. ``is_batched``: a ``ManyHistogram``."""

    name: str
    type: str
    labels: tuple[str, ...]
    documentation: str
    buckets: tuple[float, ...] = ()
    is_batched: bool = False


M = TypeVar("M", Counter, Gauge, Histogram)

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


# An instance of ``Metrics`` has the metric itself where its class has the declaration.


def _counter(text: str, *labels: str) -> Family[Counter]:
    return cast(Family[Counter], Declared("", "counter", labels, text))


def _gauge(text: str, *labels: str) -> Family[Gauge]:
    return cast(Family[Gauge], Declared("", "gauge", labels, text))


def _histogram(text: str, buckets: tuple[float, ...], *labels: str) -> Family[Histogram]:
    return cast(Family[Histogram], Declared("", "histogram", labels, text, buckets))


def _many(text: str, buckets: tuple[float, ...], label: str) -> ManyHistogram:
    return cast(ManyHistogram, Declared("", "histogram", (label,), text, buckets, is_batched=True))


class Metrics:
    """Every metric of a worker, by its name without ``onward_``. Units are in the names: seconds, records, steps.

    ``counts`` and ``histograms`` are what the engine observes, by the name of the observation.
    """

    # Programs whose learner expects rewards only. Three sums, so that those of several workers can be added.
    recent_outcomes = _gauge(
        "Options of which the reward is known and was predicted, the last of each shard.", "program", "decile"
    )
    recent_predicted_rewards = _gauge("Sum of the rewards that were predicted of these options.", "program", "decile")
    recent_observed_rewards = _gauge("Sum of the rewards of these options.", "program", "decile")
    feature_omega = _gauge(
        "How much less a feature's changes help than the labels say: 0 as expected, 1 not at all.", "program", "feature"
    )
    feature_omega_sd = _gauge("Standard deviation of omega.", "program", "feature")
    feature_difficulty = _gauge("How many times as hard as assumed a feature's changes are.", "program", "feature")

    # Programs that ask only.
    open_questions = _gauge(
        "Questions that wait for an answer, by how long ago the person was asked first: an hour, a day or a week "
        "at most, or older.",
        "program",
        "age",
    )
    recourse_latency_seconds = _many(
        "From an application's record time to its answer's acknowledgement.", LATENCY_SECONDS, "program"
    )
    chunk_seconds = _histogram("Time of one stage of a chunk.", CHUNK_SECONDS, "stage")
    chunk_records: Histogram = cast(Histogram, _histogram("Records in a chunk.", CHUNK_RECORDS))

    lag_records = _gauge("Records not read yet.", "topic", "partition")
    open_recourses = _gauge("Recourses that wait for their fate.", "program")
    waiting_events = _gauge("Events that wait for an earlier one.", "partition")
    watermark_timestamp_seconds = _gauge("Event time reached, since the epoch.", "partition")
    expected_reward_mean = _gauge("Mean expected reward of the recourses, where a simulator knows it.", "program")
    ready: Gauge = cast(Gauge, _gauge("1 when the worker has caught up, else 0."))
    info = _gauge("The version that runs.", "version")

    # Programs with limited places. A time is a gauge, so that how long ago it is grows without the worker.
    waiting_applications = _gauge(
        "Applications whose round is not closed, those without a decision of another system included.", "program"
    )
    applications_without_round = _gauge(
        "Applications that wait while no round is announced; 0 where the spec has a calendar.", "program"
    )
    open_promises = _gauge("Open promises, by the rounds closed since theirs.", "program", "age")
    threshold_score = _gauge(
        "Lowest score that got a place in the last round that gave any; 0 where nobody was rejected.", "program"
    )
    goal_score = _gauge("Score that those who were rejected last are told to reach.", "program")
    coverage_achieved_ratio = _gauge(
        "Share of all who came back with their target score that got a place; absent before the first.", "program"
    )
    coverage_nominal_ratio = _gauge("The share that the spec says.", "program")
    coverage_people = _gauge("How many came back with their target score.", "program")
    last_round_timestamp_seconds = _gauge("When the last closed round ended.", "program")
    next_round_timestamp_seconds = _gauge(
        "When the earliest round that is not closed can be: its end plus the lateness; absent when none is due.",
        "program",
    )

    # Programs whose options are promised only.
    open_options = _gauge("Options that are promised and open.", "program")
    unseen_options = _gauge(
        "Open options that an unfinished revalidation has not looked at, those that need no look included.", "program"
    )
    revalidated_options = _counter(
        "Open options under a new model, by what it means for them; counted when the revalidation is finished.",
        "program",
        "result",
    )
    broken_options = _gauge("Options that the model of the last finished revalidation has broken.", "program", "model")
    worst_margin = _gauge(
        "By how much the least score of the last finished revalidation that is accepted exceeds the threshold; "
        "absent when it scored none.",
        "program",
    )

    merged_dead_letters = _counter("Unusable records beyond the quota of their input partition.", "topic")

    snapshot_timestamp_seconds = _gauge("When the newest snapshot was taken, or nothing was new since.", "partition")
    snapshot_seconds = _histogram("Time that a snapshot took, to take or to restore.", SNAPSHOT_SECONDS, "action")
    snapshot_failures = _counter("Snapshots that could not be taken, or were refused.", "action")

    journal_begin_offset = _gauge("Offset at which this worker has cut the journal.", "partition")
    journal_cut_failures = _counter("Cuts of the journal that did not succeed; the next turn tries again.", "partition")

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.declared: list[Declared] = []
        self.ingested: Family[Counter] = self._made(
            "ingested_records", _counter("Records read from the input topics.", "topic")
        )
        self.expired_records: Family[Counter] = self._made(
            "expired_records", _counter("Records that Kafka deleted before they were read.", "topic")
        )
        self.events_ahead: Family[Counter] = self._made(
            "events_ahead", _counter("Events too far ahead of the worker's clock to move time so far.", "topic")
        )
        self.counts: dict[str, Family[Counter]] = {}
        self.histograms: dict[str, ManyHistogram] = {}
        for name, (text, labels, buckets) in OBSERVATIONS.items():
            if buckets:
                self.histograms[name] = self._made(name, _many(text, buckets, *labels))
            else:
                self.counts[name] = self._made(name, _counter(text, *labels))
        for name, declared in vars(Metrics).items():
            if isinstance(declared, Declared):
                setattr(self, name, self._made(name, declared))
        self.info.labels(__version__).set(1)
        for action in ("take", "restore"):
            self.snapshot_failures.labels(action)

    def expose(self) -> bytes:
        """All metrics in Prometheus' text format 0.0.4."""
        return generate_latest(self.registry)

    def _made(self, name: str, declared: Any) -> Any:
        """A metric as it is ``Declared``; those without labels are no families."""
        name = f"onward_{name}_total" if declared.type == "counter" else f"onward_{name}"
        self.declared.append(declared._replace(name=name))
        _, kind, labels, text, buckets, is_batched = declared
        if is_batched:
            histogram = ManyHistogram(name, text, labels[0], buckets)
            self.registry.register(histogram)
            return histogram
        if kind == "histogram":
            metric: Any = Histogram(name, text, labels, buckets=buckets, registry=self.registry)
        else:
            metric = (Counter if kind == "counter" else Gauge)(name, text, labels, registry=self.registry)
        return Family(metric) if labels else metric
