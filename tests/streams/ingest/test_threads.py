"""The event loop goes on while ingest works on large records."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from onward.schemas.events import Application
from onward.streams.ingest.ingest import SMALL_BYTES, Ingest
from onward.streams.ingest.validation import Validator
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender, no_clock
from onward.testing.program import build_program

LONG_SECONDS = 30


@pytest.mark.attack
async def test_large_records_do_not_hold_the_event_loop(monkeypatch):
    topics, go_on, heard = Topics(), Event(), []
    ingest = Ingest(topics, {"loan": build_program()}, MemoryBroker(), Metrics(), no_clock)
    await ingest.assigned([TopicPartition(topics.applications, 0)])
    validate = Validator.validate

    def slow(self, record, now_ms):
        heard.append(go_on.wait(LONG_SECONDS))
        return validate(self, record, now_ms)

    monkeypatch.setattr(Validator, "validate", slow)
    event = Application("loan", "a", {"region": "north"})
    record = Sender().record(topics.applications, event, time_ms=START_MS, id="1", raw=b"[" * (SMALL_BYTES + 1))
    asyncio.get_running_loop().call_later(0.01, go_on.set)
    await ingest.journal_records([record])
    assert heard == [True]
