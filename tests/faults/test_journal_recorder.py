"""The recorder of a journal that is cut."""

from __future__ import annotations

import time

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from onward.tests.faults.suite.check.journal_recorder import IncompleteJournalError, JournalRecorder


def cut(broker, topic, offset):
    admin = AdminClient(broker.options().confluent())
    for future in admin.delete_records([confluent_kafka.TopicPartition(topic, 0, offset)]).values():
        future.result()


@pytest.mark.kafka
def test_records_are_kept_that_are_cut_after_they_were_read_and_missed_where_they_were_not(real):
    topic = real.topic()
    real.fill(topic, 4)
    with JournalRecorder(real.options(), topic) as recorder:
        while recorder.count < 4:
            time.sleep(0.05)
        cut(real, topic, 3)
        real.fill(topic, 2, start=4)
        assert [record.offset for record in recorder.finish()] == list(range(6))
    with JournalRecorder(real.options(), topic) as late, pytest.raises(IncompleteJournalError, match="offset 0 to 2 w"):
        late.finish()
