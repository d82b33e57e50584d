import re

from prometheus_client.parser import text_string_to_metric_families

from onward.streams.metrics import Metrics

PERSONAL = {"application", "applicant", "person", "event_id"}


def test_every_declared_metric_is_exposed_with_its_labels() -> None:
    metrics = Metrics()
    metrics.recourses.labels("loans", "recourse").inc(3)
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
    one.applications.labels("loans").inc()
    assert b'onward_applications_total{program="loans"}' not in other.expose()
