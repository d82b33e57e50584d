"""The settings that topics are created with."""

from onward.streams.topics import DAY_MS, Topics, plan


def test_records_are_deleted_within_a_day_of_their_retention():
    """Kafka deletes closed segments, and closes one after a week unless told otherwise."""
    topics = Topics(prefix="eu.")
    plans = {wanted.name: wanted.config for wanted in plan(topics, partitions=3, replication=3)}
    assert {
        (plans[name]["retention.ms"], plans[name]["segment.ms"]) for name in (*topics.inputs, topics.dead_letters)
    } == {(str(7 * DAY_MS), str(DAY_MS))}
    assert {(plans[name]["retention.ms"], plans[name]["segment.ms"]) for name in topics.outputs[:-1]} == {
        (str(28 * DAY_MS), str(DAY_MS))
    }
    assert plans[topics.journal]["retention.ms"] == "-1"
