from onward.streams.records import TopicPartition
from onward.streams.worker.readiness import CaughtUp

FIRST, SECOND = TopicPartition("journal", 0), TopicPartition("journal", 1)


class Lags(dict[TopicPartition, int]):
    def lag(self, partition: TopicPartition) -> int | None:
        return self.get(partition)


def test_ready_when_every_partition_has_caught_up_once() -> None:
    lags = Lags({FIRST: 5000})
    readiness = CaughtUp(lags, lambda: {FIRST, SECOND}, limit_records=10)
    assert readiness() == (False, "journal/0 is 5000 records behind", None)
    lags[FIRST] = 10
    assert readiness() == (False, "journal/1 is an unknown number of records behind", None)
    lags.update({FIRST: 90_000, SECOND: 0})
    assert readiness().ready, "a later burst does not take a worker out of service"


def test_a_partition_that_comes_must_catch_up_and_one_that_goes_is_forgotten() -> None:
    lags, assigned = Lags({FIRST: 0, SECOND: 99}), {FIRST}
    readiness = CaughtUp(lags, lambda: assigned, limit_records=10)
    assert readiness().ready
    assigned.add(SECOND)
    assert not readiness().ready
    assigned.remove(FIRST)
    lags.update({FIRST: 50, SECOND: 0})
    assert readiness().ready
    assigned.add(FIRST)
    assert readiness().reason == "journal/0 is 50 records behind"


def test_not_ready_before_an_assignment_but_ready_as_a_standby() -> None:
    assert CaughtUp(Lags(), lambda: None)().reason == "no partitions are assigned yet"
    assert CaughtUp(Lags(), lambda: ())().ready


def test_a_failure_stays() -> None:
    readiness = CaughtUp(Lags(), lambda: ())
    readiness.fail(OSError("disk full"))
    assert readiness() == (False, "the work has stopped", "OSError: disk full")
