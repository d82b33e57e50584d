import re

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from onward.streams.histogram import ManyHistogram
from onward.streams.metrics import Metrics

PERSONAL = {"application", "applicant", "person", "event_id"}


def test_every_declared_metric_is_exposed_with_its_labels() -> None:
    metrics = Metrics()
    metrics.counts["recourses"].labels("loans", "recourse").inc(3)
    metrics.lag_records.labels("journal", 3).set(12)
    families = {family.name: family for family in text_string_to_metric_families(metrics.expose().decode())}
    for declared in metrics.declared:
        family = families[declared.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (declared.type, declared.documentation)
    (sample,) = families["onward_recourses"].samples
    assert (sample.labels, sample.value) == ({"program": "loans", "kind": "recourse"}, 3.0)
    (sample,) = families["onward_lag_records"].samples
    assert sample.labels == {"topic": "journal", "partition": "3"}


def test_names_have_base_units_and_no_label_is_a_person() -> None:
    for declared in Metrics().declared:
        assert not PERSONAL & set(declared.labels)
        assert not re.search(r"_(ms|milliseconds|minutes|hours|percent)(_|$)", declared.name)
        assert declared.name.endswith("_total") == (declared.type == "counter")


def test_a_removed_child_is_gone_and_starts_anew() -> None:
    metrics = Metrics()
    metrics.lag_records.labels("journal", 0).set(5)
    metrics.lag_records.remove("journal", 0)
    metrics.lag_records.remove("journal", 7)
    assert b"onward_lag_records{" not in metrics.expose()
    metrics.lag_records.labels("journal", 0).inc()
    assert b'onward_lag_records{partition="0",topic="journal"} 1.0' in metrics.expose()


def test_two_workers_in_one_process_do_not_share() -> None:
    one, other = Metrics(), Metrics()
    one.counts["applications"].labels("loans").inc()
    assert b'onward_applications_total{program="loans"}' not in other.expose()


@given(st.lists(st.lists(st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0, 7.5]) | st.floats(0, 100), min_size=1)))
def test_many_observations_are_exposed_as_the_librarys_own_histogram_does(portions):
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    many = ManyHistogram("waited_seconds", "How long.", "program", (0.1, 1.0, 10.0))
    ours.register(many)
    each = Histogram("waited_seconds", "How long.", ["program"], buckets=(0.1, 1.0, 10.0), registry=theirs)
    for number, portion in enumerate(portions):
        label = f"p{number % 2}"
        many.observe(label, [float(round(value, 3)) for value in portion])
        for value in portion:
            each.labels(label).observe(float(round(value, 3)))

    def samples(registry):
        families = text_string_to_metric_families(generate_latest(registry).decode())
        return {
            (sample.name, *sample.labels.items()): round(sample.value, 6)
            for family in families
            for sample in family.samples
        }

    assert samples(ours) == samples(theirs)
