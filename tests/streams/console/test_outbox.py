"""What people send, while Kafka or the disk refuses it, and after a kill."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onward.schemas.events import Answer
from onward.schemas.kinds import kinds
from onward.streams.console.case_store import CaseStore
from onward.streams.console.follower import OutboxSender, TopicFollower
from onward.streams.console.handles import Keys
from onward.streams.console.outbox import Outbox
from onward.streams.errors import BrokerError, LedgerError
from onward.streams.kafka.admin.offsets import PartitionOffsets
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import Record
from onward.streams.topics import Topics

TOPICS = Topics()


class Writer:
    """Takes records, and may not deliver them."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.sent: list[tuple[str, dict[str, bytes]]] = []
        self.is_away = is_away

    def send(self, topic: str, value: bytes, *, key: bytes, headers: Any) -> None:
        self.sent.append((topic, dict(headers)))

    def flush(self) -> None:
        if self.is_away:
            raise BrokerError("Kafka is away")


@pytest.fixture
def outbox(tmp_path: Path):
    CaseStore(tmp_path, TOPICS, Keys(["x"])).close()
    made = Outbox(tmp_path, TOPICS)
    yield made
    made.close()


def put(outbox: Outbox, name: str) -> bool:
    return outbox.put(f"handle-{name}", Answer("loan", name, "1"), event_id=f"console/{name}", time_ms=1)


def test_what_was_not_delivered_is_sent_again_under_its_own_id(outbox: Outbox) -> None:
    assert [put(outbox, name) for name in ("a", "b", "a")] == [True, True, False]
    away, back = Writer(is_away=True), Writer()
    with pytest.raises(BrokerError):
        outbox.send(away)  # type: ignore[arg-type]
    assert outbox.waiting()[0] == 2
    assert outbox.send(back) == 2  # type: ignore[arg-type]
    assert back.sent == away.sent
    assert [headers["ce_id"] for _, headers in back.sent] == [b"console/a", b"console/b"]
    assert {topic for topic, _ in back.sent} == {TOPICS.topic_of(kinds["answer"])}
    assert outbox.send(back) == 0  # type: ignore[arg-type]
    assert outbox.waiting() == (0, None)


def test_a_form_is_on_the_disk_before_it_is_taken(outbox: Outbox, tmp_path: Path) -> None:
    put(outbox, "a")
    with sqlite3.connect(tmp_path / "console.sqlite") as other:
        assert other.execute("SELECT count(*) FROM outbox").fetchone() == (1,)
    other.close()
    assert outbox._db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_an_answer_of_before_a_kill_reaches_its_topic(tmp_path: Path) -> None:
    CaseStore(tmp_path, TOPICS, Keys(["x"])).close()
    kept = Outbox(tmp_path, TOPICS)
    put(kept, "a")
    kept.close()
    names = (*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs)
    with EmbeddedBroker(dict.fromkeys(names, 1)) as broker:
        stop, sender = threading.Event(), OutboxSender(broker.options(), TOPICS, tmp_path)
        thread = threading.Thread(target=sender.run, args=(stop,))
        thread.start()
        with EventReader(broker.options(), [TOPICS.answers]) as reader:
            found = []
            while not found:
                found = reader.poll(0.2)
        stop.set()
        sender.wake.set()
        thread.join()
    assert [dict(record.headers)["ce_id"] for record in found] == [b"console/a"]


def test_what_stood_on_its_topic_before_a_kill_is_not_sent_again(tmp_path: Path) -> None:
    CaseStore(tmp_path, TOPICS, Keys(["x"])).close()
    kept = Outbox(tmp_path, TOPICS)
    names = (*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs)
    with EmbeddedBroker(dict.fromkeys(names, 2)) as broker:
        for number in range(6):
            kept.look_back(broker.options())
            put(kept, f"{number}")
            with EventWriter(broker.options()) as writer:
                assert kept.send(writer) == 1
            if number % 2:  # a kill came before it was noted
                kept._db.execute("UPDATE outbox SET sent = 0 WHERE event_id = ?", (f"console/{number}",))
        put(kept, "last")
        stop, sender = threading.Event(), OutboxSender(broker.options(), TOPICS, tmp_path)
        thread = threading.Thread(target=sender.run, args=(stop,))
        thread.start()
        while kept.waiting()[0]:
            stop.wait(0.05)
        stop.set()
        sender.wake.set()
        thread.join()
        with EventReader(broker.options(), [TOPICS.answers]) as reader:
            found = []
            while not reader.caught_up:
                found += reader.poll(0.2)
    kept.close()
    sent = sorted(dict(record.headers)["ce_id"].decode() for record in found)
    assert sent == [*(f"console/{number}" for number in range(6)), "console/last"]


def test_silence_before_the_end_of_a_topic_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, asked = threading.Event(), []

    class SilentReader(EventReader):
        def __init__(self, *_: object, **__: object) -> None:
            """Ask no broker."""

        caught_up = False

        def poll(self, timeout: float = 1.0) -> list[Record]:
            return []

        def close(self) -> None:
            """There is nothing to close."""

    def offsets(*_: object) -> list[PartitionOffsets]:
        asked.append(follower.fault)
        if len(asked) == 1:
            return []
        stop.set()
        raise BrokerError("Kafka is away")

    with closing(CaseStore(tmp_path, TOPICS, Keys(["x"]))) as store:
        follower = TopicFollower(KafkaOptions(brokers=("127.0.0.1:1",)), TOPICS, store)
        for name, value in (
            ("partition_offsets", offsets),
            ("EventReader", SilentReader),
            ("CHECK_SECONDS", 0.01),
            ("RETRY_SECONDS", 0.0),
        ):
            monkeypatch.setattr(f"onward.streams.console.follower.{name}", value)
        follower.run(stop)
    assert follower.fault == "Kafka is away"


def test_a_full_disk_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CaseStore(tmp_path, TOPICS, Keys(["x"]))
    stop, follower = threading.Event(), TopicFollower(KafkaOptions(brokers=("127.0.0.1:1",)), TOPICS, store)
    tried = []

    def read(_: threading.Event) -> None:
        tried.append(follower.fault)
        if len(tried) == 2:
            stop.set()
        raise LedgerError("the disk is full")

    monkeypatch.setattr(follower, "_read", read)
    monkeypatch.setattr("onward.streams.console.follower.RETRY_SECONDS", 0.0)
    follower.run(stop)
    assert tried[1] == "the disk is full"
    store.close()
