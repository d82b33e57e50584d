"""What commands make of records that nobody can read."""

from __future__ import annotations

import asyncio
import json
import time

import msgspec
import pytest

from onward.schemas.events import Application, DeadLetter
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams import cli
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.options import KafkaOptions
from onward.tests.support.bombs import bomb
from onward.tests.support.installations import TOPICS
from onward.tests.support.raw_batches import NO_NAME, batch, send

NAME = "canary-9"
LIMIT = KafkaOptions(brokers=("a:1",)).max_batch_bytes


@pytest.fixture
def broker():
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        yield broker


def now_ms():
    return time.time_ns() // 1_000_000


def applies(broker):
    event = Application("loan", NAME, {"income": 1.0})
    headers = cloud_event_headers("a", "test", ce_type(event), now_ms())
    with EventWriter(broker.options()) as writer:
        writer.send(TOPICS.applications, msgspec.json.encode(event), headers=headers)


def run(capsys, broker, *args):
    code = cli.main([*args, "--brokers", broker.bootstrap, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


@pytest.mark.attack
@pytest.mark.parametrize("compression", ["zstd", "gzip", "lz4", "snappy"])
def test_a_batch_that_unpacks_to_too_much_hides_nobody_elses_records(broker, compression, capsys):
    asyncio.run(send(broker.options(), TOPICS.applications, bomb(compression, LIMIT + 1, now_ms())))
    applies(broker)
    code, found, _ = run(capsys, broker, "erase", "verify", NAME)
    assert code == 1
    traces = {trace["place"]: (trace["names"], trace["left"]) for trace in found["traces"]}
    assert traces == {"applications/0/0": ([0], False), "applications/0/1": ([1], False)}
    assert "unpack to more than the limit" in found["traces"][0]["note"]
    unread = "applications partition 0 offsets 0 to 0 were not read: "
    for command in ("show", "explain"):
        code, told, _ = run(capsys, broker, command, NAME)
        assert code == 0
        [program] = told["programs"]
        assert any(line.startswith(unread) for line in program["missing"])
    assert cli.main(["show", "nobody", "--brokers", broker.bootstrap]) == 1
    assert unread in capsys.readouterr().err


@pytest.mark.attack
def test_dead_letters_behind_a_batch_that_was_not_read_are_listed(broker, capsys):
    asyncio.run(send(broker.options(), TOPICS.dead_letters, bomb("zstd", LIMIT + 1, now_ms())))
    letter = DeadLetter("unknown_program", "d", TOPICS.applications, 0, 0, 2, "", b"{}")
    with EventWriter(broker.options()) as writer:
        headers = cloud_event_headers("a", "test", ce_type(letter), now_ms())
        writer.send(TOPICS.dead_letters, msgspec.json.encode(letter), headers=headers)
    code, found, err = run(capsys, broker, "dead-letters", "list")
    assert code == 0
    assert [one["id"] for one in found["dead_letters"]] == ["applications/0/0"]
    assert err.startswith("dead-letters partition 0 offsets 0 to 0 were not read: ")


@pytest.mark.attack
def test_a_header_whose_name_is_not_utf_8_hides_no_other_header(broker, capsys):
    headers = [(b"trace", NAME.encode()), (NO_NAME, NAME.encode()), (b"after", b"")]
    asyncio.run(send(broker.options(), TOPICS.applications, batch([b"{}", b"{}"], [headers, []], now_ms())))
    code, found, _ = run(capsys, broker, "erase", "verify", NAME)
    assert code == 0
    [trace] = found["traces"]
    assert (trace["place"], trace["names"]) == ("applications/0/0", [1])
    assert trace["note"].startswith("header trace, header \\xff\\xfe-not-utf-8")
