"""A worker warns of settings under which Kafka would delete records of the journal."""

import pytest

from onward.streams.kafka.admin.retention import deletions, warn_of_deletion
from onward.streams.topics import TopicPlan

FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, []),
        ({"retention.ms": "604800000"}, ["topic journal has retention.ms=604800000"]),
        ({"retention.bytes": "1073741824"}, ["topic journal has retention.bytes=1073741824"]),
        ({"cleanup.policy": "compact", "retention.ms": "1"}, ["topic journal is compacted"]),
        (
            {"cleanup.policy": "compact,delete", "retention.ms": "1"},
            ["topic journal is compacted", "topic journal has retention.ms=1"],
        ),
    ],
)
def test_each_setting_that_lets_records_go_is_a_line_that_says_what_to_set(change, words):
    lines = list(deletions("journal", FOREVER | change))
    assert [line.startswith(word) for line, word in zip(lines, words, strict=True)] == [True] * len(words)
    assert all("=-1" in line for line in lines)


@pytest.mark.kafka
async def test_the_settings_are_read_from_kafka(real, caplog):
    name = real.topic()
    await warn_of_deletion(real.options(), name)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    caplog.clear()
    real.create([TopicPlan(f"{name}-kept", 1, 1, FOREVER)])
    await warn_of_deletion(real.options(), f"{name}-kept")
    assert caplog.records == []


async def test_a_broker_without_settings_is_no_reason_to_end(embedded, caplog):
    await warn_of_deletion(embedded.options(), "journal")
    assert [record.levelname for record in caplog.records if record.levelname != "INFO"] == []
