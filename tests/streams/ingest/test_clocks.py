"""No input moves time: events far ahead of the worker's clock are used, and close nobody's windows."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.schemas.events import Application, Outcome
from onward.streams.engine.timing.watermark import Watermarks, clock_moves, required_topics
from onward.streams.ingest.ingest import Ingest
from onward.streams.ingest.validation import RecordLimits
from onward.streams.journal.lines import read_entries
from onward.streams.ledger.summary import summaries
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, TIMED, tape

HOUR_MS = 60 * MINUTE_MS
FUTURE_MS = 300_000


class Clock:
    """A worker's clock."""

    now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


def timed(folder):
    """A story with windows of 30 minutes and 5 minutes of lateness, and the clock of its worker."""
    story, clock = tape(folder, **TIMED), Clock()
    story.run.clock_ms = clock
    return story, clock


@pytest.mark.attack
def test_an_application_and_an_outcome_a_day_ahead_close_no_window(tmp_path):
    story, _ = timed(tmp_path)
    story.applies("x")
    story.applies("far", 23 * HOUR_MS)
    story.outcome("nobody", 23 * HOUR_MS)
    story.outcome("x", 10 * MINUTE_MS)
    ledger = story.fold()
    assert story.fates() == [("x", "rewarded")]
    answers = [(answer.application, answer.time_ms) for answer in times(story, "recourse")]
    assert answers == [("x", START_MS), ("far", START_MS + 23 * HOUR_MS)]
    [summary] = summaries(ledger.parent)
    assert summary.watermark_ms == START_MS + FUTURE_MS
    assert [tuple(one) for one in summary.latest] == [
        ("applications", 0, START_MS + 23 * HOUR_MS),
        ("outcomes", 0, START_MS + 23 * HOUR_MS),
    ]


class Answered:
    """The application that an answer is about, and its event time."""

    def __init__(self, record):
        self.time_ms = round(
            datetime.fromisoformat(dict(record.headers)["ce_time"].decode()).astimezone(UTC).timestamp() * 1000
        )
        self.application = dict(record.headers)["ce_id"].decode().split("/")[-1]


def times(story, topic):
    return [Answered(record) for record in story.run.broker.logs[topic, 0]]


@pytest.mark.attack
def test_local_time_sent_as_utc_by_one_of_many_senders_closes_no_window(tmp_path):
    story, clock = timed(tmp_path)
    story.applies("x")
    for minute in range(1, 26):
        clock.now_ms = START_MS + minute * MINUTE_MS
        story.applies(f"local {minute}", minute * MINUTE_MS + 2 * HOUR_MS)
        story.outcome(f"local {minute}", minute * MINUTE_MS + 2 * HOUR_MS)
        story.applies(f"utc {minute}", minute * MINUTE_MS)
    story.outcome("x", 25 * MINUTE_MS)
    story.fold()
    fates = dict(story.fates())
    assert fates.pop("x") == "rewarded"
    assert fates == {f"local {minute}": "rewarded" for minute in range(1, 26)}


events = st.lists(
    st.tuples(
        st.sampled_from(["applications", "outcomes"]),
        st.integers(-2 * DAY_MS, 2 * DAY_MS),
        st.booleans(),
        st.integers(0, HOUR_MS),
    ),
    max_size=12,
)


@pytest.mark.attack
@given(events)
def test_no_watermark_is_beyond_the_latest_clock_of_a_worker_and_the_bound(sent):
    broker, sender, clock = MemoryBroker(), Sender(), Clock()
    ingest = Ingest(Topics(), {"loan": PROGRAM}, broker, Metrics(), clock, RecordLimits(future_ms=FUTURE_MS))

    async def go():
        await ingest.assigned([])
        for number, (topic, ahead_ms, says_it, later_ms) in enumerate(sent):
            clock.now_ms += later_ms
            name, time_ms = str(number), clock.now_ms + ahead_ms
            event = (
                Application("loan", name, dict(POOR)) if topic == "applications" else Outcome("loan", name, "improved")
            )
            record = sender.record(topic, event, time_ms=time_ms, id=name)
            if not says_it:
                # Then the time of the Kafka record counts, which its sender chooses as well.
                record = record._replace(headers=[one for one in record.headers if one[0] != "ce_time"])
            await ingest.handle([record])

    asyncio.run(go())
    watermarks = Watermarks(required_topics(Topics()))
    for record in broker.logs["journal", 0]:
        for entry in read_entries(record):
            for move in clock_moves(entry):
                watermarks.advance(*move)
    assert all(value <= clock.now_ms + FUTURE_MS for _, value in watermarks.known())


PROGRAM = build_program()


def test_events_ahead_are_counted_and_those_at_the_bound_are_not():
    broker, sender, metrics = MemoryBroker(), Sender(), Metrics()
    ingest = Ingest(Topics(), {"loan": PROGRAM}, broker, metrics, Clock())
    late = [START_MS + FUTURE_MS, START_MS + FUTURE_MS + 1, START_MS + DAY_MS]

    async def go():
        await ingest.assigned([TopicPartition("outcomes", 0)])
        for number, time_ms in enumerate(late):
            await ingest.handle(
                [sender.record("outcomes", Outcome("loan", "x", "improved"), time_ms=time_ms, id=str(number))]
            )

    asyncio.run(go())
    assert b'onward_events_ahead_total{topic="outcomes"} 2.0' in metrics.expose()
    clocks = [entry.clock_ms for record in broker.logs["journal", 0] for entry in read_entries(record) if entry.source]
    assert clocks == [None, START_MS + FUTURE_MS, START_MS + FUTURE_MS]
