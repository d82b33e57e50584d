"""``onward dead-letters`` over real sockets: what was refused is listed, shown, and sent again."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

from onward.schemas.events import Application, DeadLetter, Decision
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.cli import dead_letters, main
from onward.streams.journal.dead_letters import dead_letter_of_record, dead_letter_of_run, with_record
from onward.streams.kafka.admin.offsets import PartitionOffsets, partition_offsets
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.service import run_service
from onward.streams.outputs.emission import Emission, encode_event, records_of
from onward.streams.records import Record
from onward.streams.settings import WorkerSettings
from onward.tests.support.installations import TOPICS, read_events

POOR = {
    "age_band": "under_30",
    "dependants": "none",
    "education": "secondary",
    "housing": "renting",
    "years_in_job": 1,
    "monthly_income": 1500,
    "monthly_debt_payments": 900,
    "savings": 1000,
    "card_utilisation": 70,
    "missed_payments_two_years": 2,
    "loan_amount": 12000,
    "loan_term": 36,
}
SENT_MS = 1_790_000_000_000


def send(broker: EmbeddedBroker, topic: str, event: Any, id: str, time_ms: int | None = None) -> None:
    headers = cloud_event_headers(id, "portal", ce_type(event), time_ms or time.time_ns() // 1_000_000)
    with EventWriter(broker.options()) as writer:
        writer.send(topic, msgspec.json.encode(event), key=b"k", headers=headers, partition=0)


def call(broker: EmbeddedBroker, *args: str) -> int:
    return main(["dead-letters", *args, "--brokers", broker.bootstrap])


@contextmanager
def worker(broker: EmbeddedBroker, folder: Path, *specs: Path) -> Iterator[None]:
    """A worker in a thread of this process: two of its own would take seconds to start."""
    settings = WorkerSettings(
        brokers=(broker.bootstrap,), spec=specs, state_dir=folder / "state", web=False, session_timeout_seconds=6
    )
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = Thread(target=loop.run_until_complete, args=(run_service(settings, stop=stop, signals=False),))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def test_what_was_refused_is_answered_exactly_once(
    broker: EmbeddedBroker, written_program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person applies to a program that no worker serves, and another system decides. Then a worker serves it."""
    cars = Path(shutil.copytree(written_program, tmp_path / "cars")) / "spec.yaml"
    text = cars.read_text().replace("program: personal-loan-linucb", "program: cars")
    cars.write_text(text.replace("decisions: model", "decisions: external"))
    manifest = cars.parent / "model" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"program": "cars"}))
    with worker(broker, tmp_path, written_program / "spec.yaml"):
        an_hour_ago = time.time_ns() // 1_000_000 - 3_600_000
        # Sent before its application, twice, and decided before it by the clock of the topics.
        send(broker, TOPICS.decisions, Decision("cars", "ada", False), "d-1", an_hour_ago + 1)
        for count in (2, 3):
            send(broker, TOPICS.applications, Application("cars", "ada", POOR), "a-1", an_hour_ago)
            assert len(read_events(broker, TOPICS.dead_letters, count)) == count
        letters = read_events(broker, TOPICS.dead_letters, 3)
    assert {letter["reason"] for letter in letters} == {"unknown_program"}

    assert call(broker, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[-1] == "3 dead letters, 0 sent again, unknown_program 3"
    assert "  applications/0/0  unknown_program  cars ada  no spec for program 'cars'" in "\n".join(lines)

    with worker(broker, tmp_path, written_program / "spec.yaml", cars):
        assert call(broker, "retry", "--program", "cars", "--dry-run") == 0
        assert capsys.readouterr().out.splitlines()[-1] == (
            "3 dead letters: 3 would be sent again, 0 sent before, 0 cannot be"
        )
        assert call(broker, "retry", "--program", "cars") == 0
        assert capsys.readouterr().out.splitlines()[-1] == ("3 dead letters: 3 sent again, 0 sent before, 0 cannot be")
        [answer] = read_events(broker, TOPICS.recourse, 1)
        assert (answer["program"], answer["application"]) == ("cars", "ada")

        assert call(broker, "retry", "--all") == 0
        assert capsys.readouterr().out.splitlines() == ["3 dead letters: 0 sent again, 3 sent before, 0 cannot be"]
        # The sender's own repeat is recognised too.
        send(broker, TOPICS.applications, Application("cars", "ada", POOR), "a-1", an_hour_ago)
        send(broker, TOPICS.applications, Application("cars", "eve", POOR), "a-2")
        send(broker, TOPICS.decisions, Decision("cars", "eve", False), "d-2")
        answers = read_events(broker, TOPICS.recourse, 2)
    assert [answer["application"] for answer in answers] == ["ada", "eve"]
    assert len(read_events(broker, TOPICS.dead_letters)) == 3
    assert len(read_events(broker, TOPICS.applications)) == 6

    assert call(broker, "list", "--json") == 0
    assert [row["sent_again"] for row in json.loads(capsys.readouterr().out)["dead_letters"]] == [True] * 3


def put(writer: EventWriter, record: Record, reason: str = "wrong_type", limit: int = 100) -> None:
    """Send a record, and publish the dead letter of it that a worker would."""
    writer.send(record.topic, record.value or b"", partition=record.partition)
    put_letter(writer, record, reason, limit)


def put_letter(writer: EventWriter, record: Record, reason: str = "wrong_type", limit: int = 100) -> None:
    """Publish the dead letter of a record that a worker would."""
    publish(writer, record, dead_letter_of_record(record, reason, "it \x1b[2Jis", limit))


def publish(writer: EventWriter, record: Record, letter: DeadLetter) -> None:
    """Publish a dead letter of a record."""
    times_ms = record.timestamp_ms, record.timestamp_ms
    emission = Emission(0, 0, "dead-letter/x", "", "onward", None, *times_ms, DeadLetter, encode_event(letter))
    [out] = records_of([emission], TOPICS, record.partition, b"1", b"17.0")
    writer.send(out.topic, out.value, headers=out.headers, timestamp_ms=out.timestamp_ms, partition=record.partition)


ID = [("ce_id", b"1")]
DAY_MS = 86_400_000


def refuse(broker: EmbeddedBroker) -> None:
    """Publish dead letters of several kinds, times and programs; no worker serves the broker."""
    now_ms = time.time_ns() // 1_000_000
    value = b'{"program":"cars","application":"\\u001b[2Jada"}'
    with EventWriter(broker.options()) as writer:
        put(writer, Record("applications", 0, 0, SENT_MS, b"k", value, ID))
        put(writer, Record("applications", 1, 0, now_ms - DAY_MS // 2, None, b"x" * 1000, ID), "oversized")
        put(writer, Record("decisions", 1, 0, now_ms, None, b"{", ID), "malformed_json")
        put(writer, Record("journal", 0, 0, now_ms, None, b"[]", ()), "foreign_record")
        put(writer, Record("models", 0, 0, now_ms, None, b"{}", ID), "model_refused")
        # That of an event about a program stands in several partitions.
        put(writer, Record("models", 0, 0, now_ms, None, b"{}", ID), "model_refused")


@pytest.fixture(scope="module")
def refused() -> Iterator[EmbeddedBroker]:
    """A broker with dead letters of several kinds, which is only read from."""
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        refuse(broker)
        yield broker


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ([], ["applications/0/0", "applications/1/0", "decisions/1/0", "journal/0/0", "models/0/0"]),
        (["--reason", "oversized,wrong_type"], ["applications/0/0", "applications/1/0"]),
        (["--program", "cars"], ["applications/0/0"]),
        (["--topic", "decisions", "--topic", "models"], ["decisions/1/0", "models/0/0"]),
        (["--since", "P1D", "--topic", "applications"], ["applications/1/0"]),
        (["--since", "2026-09-21", "--until", "2026-09-21T23:00:00Z"], ["applications/0/0"]),
        (["--reason", "oversized", "--program", "cars"], []),
    ],
)
def test_flags_narrow_down(
    refused: EmbeddedBroker, capsys: pytest.CaptureFixture[str], flags: list[str], found: list[str]
) -> None:
    assert call(refused, "list", *flags, "--json") == 0
    assert sorted(row["id"] for row in json.loads(capsys.readouterr().out)["dead_letters"]) == found


def test_a_line_for_each_and_none_of_them_steers_the_terminal(
    refused: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(refused, "list", "--reason", "oob") == 0
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("0 dead letters, 0 sent again\n", 1)
    assert re.match(r"there are dead letters, for \w+(, \w+)*, but none such", told.err)
    assert call(refused, "list", "--topic", "applications") == 0
    *lines, total = capsys.readouterr().out.splitlines()
    first = "2026-09-21T14:13:20.000Z  applications/0/0  wrong_type  cars \\x1b[2Jada  it \\x1b[2Jis"
    [large] = [line for line in lines if line != first]
    assert first in lines
    assert large.endswith("  (cannot be sent again: of its 1,000 bytes only 100 were kept)")
    assert total == "2 dead letters, 0 sent again, wrong_type 1, oversized 1"


def test_a_name_that_is_as_long_as_its_record_is_cut_in_the_list(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    value = json.dumps({"program": "cars", "application": "n" * 200_000}).encode()
    with EventWriter(broker.options()) as writer:
        put(writer, Record("applications", 0, 0, SENT_MS, None, value, ID), limit=300_000)
    assert call(broker, "list") == 0
    line, _ = capsys.readouterr().out.splitlines()
    assert f"cars {'n' * 59}…  it" in line


def test_one_is_shown_with_its_record(refused: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(refused, "show", "applications/0/0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "    can be sent again" in lines
    assert "    header ce_id: 1" in lines
    assert lines[-1] == '    value: {"program":"cars","application":"\\u001b[2Jada"}'
    assert call(refused, "show", "decisions/1/0", "applications/0/0", "--json") == 0
    shown = {row["id"]: row for row in json.loads(capsys.readouterr().out)["dead_letters"]}
    assert shown["applications/0/0"]["value"] == {"program": "cars", "application": "\x1b[2Jada"}
    assert (shown["decisions/1/0"]["value"], shown["decisions/1/0"]["headers"]) == ("{", {"ce_id": "1"})


def test_what_cannot_be_sent_again_has_a_line_each(
    refused: EmbeddedBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(options: object, names: object) -> list[PartitionOffsets]:
        """The records behind the model are gone."""
        return [own._replace(begin=2) if own.topic == "models" else own for own in partition_offsets(*given)]

    given = refused.options(), (TOPICS.dead_letters, *TOPICS.inputs)
    monkeypatch.setattr(dead_letters, "partition_offsets", forgetful)
    assert call(refused, "retry", "--all", "--dry-run") == 1
    printed = capsys.readouterr()
    assert printed.err == "onward: 3 of 5 dead letters cannot be sent again\n"
    assert set(printed.out.splitlines()[2:]) == {
        "cannot be sent again: applications/1/0: of its 1,000 bytes only 100 were kept",
        "cannot be sent again: journal/0/0: it was read from journal, which is no input",
        "cannot be sent again: models/0/0: the records behind it are gone, which would tell whether it was sent again "
        "before",
        "5 dead letters: 2 would be sent again, 0 sent before, 3 cannot be",
    }


def test_decisions_wait_until_workers_have_read_the_applications(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(broker)
    ids = ["decisions/1/0", "applications/0/0"]
    assert call(broker, "retry", *ids, "--patience-seconds", "0.01") == 3
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("onward: no worker of group onward has read applications within 0.01 s, and 1 records that ")
    assert call(broker, "list", "--topic", "applications", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["dead_letters"]
    assert [row["sent_again"] for row in rows] == [True, False]
    assert call(broker, "retry", *ids, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "sent": ["decisions/1/0"],
        "sent_before": ["applications/0/0"],
        "left": {},
        "skipped": [],
        "dry_run": False,
    }


def test_all_records_of_a_run_are_sent_again_from_their_topic_and_none_else(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [b'{"a":', b"{", b"[", b"{}"]
    run = [Record("applications", 0, at, SENT_MS, None, value, ID) for at, value in enumerate(values[:3])]
    with EventWriter(broker.options()) as writer:
        for value in values:
            writer.send("applications", value, headers=ID, partition=0)
        publish(writer, run[0], with_record(dead_letter_of_run(run, "malformed_json", "no JSON"), run[0]))
    assert call(broker, "show", "applications/0/0", "--json") == 0
    [shown] = json.loads(capsys.readouterr().out)["dead_letters"]
    assert (shown["records"], shown["value"], shown["headers"]) == (3, '{"a":', {"ce_id": "1"})
    assert call(broker, "retry", "--all") == 0
    assert call(broker, "retry", "--all") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 dead letter: 0 sent again, 1 sent before, 0 cannot be"
    with EventReader(broker.options(), ["applications"]) as reader:
        records = [record for _ in range(3) for record in reader.poll(1)]
    assert [record.value for record in records] == [*values, *values[:3]]
    assert all(dict(record.headers)["ce_id"] == b"1" for record in records)


def test_a_retry_that_was_refused_once_more_is_skipped_unless_it_is_given_by_its_position(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    with EventWriter(broker.options()) as writer:
        put(writer, Record("applications", 0, 0, SENT_MS, None, b"{}", ID))
    assert call(broker, "retry", "--all") == 0
    with EventWriter(broker.options()) as writer:
        put_letter(writer, Record("applications", 0, 1, SENT_MS, None, b"{}", ID))
    capsys.readouterr()
    for _ in range(2):
        assert call(broker, "retry", "--all") == 0
        assert capsys.readouterr().out.splitlines() == [
            "2 dead letters: 0 sent again, 1 sent before, 0 cannot be",
            "1 skipped: the record was a retry that was refused once more; give the position to send one again",
        ]
    assert call(broker, "retry", "--reason", "wrong_type", "--json") == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == ["applications/0/1"]
    assert call(broker, "retry", "applications/0/1") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 dead letter: 1 sent again, 0 sent before, 0 cannot be"
    assert call(broker, "retry", "--all") == 0
    assert capsys.readouterr().out.splitlines() == ["2 dead letters: 0 sent again, 2 sent before, 0 cannot be"]


@pytest.mark.parametrize(
    ("args", "code", "line"),
    [
        (["lst"], 2, "there is no `onward dead-letters lst`: use list, show or retry"),
        (["show"], 2, "the following arguments are required: LETTERS"),
        (
            ["show", "x"],
            1,
            "there is no such dead letter: x; `onward dead-letters list` shows them, as TOPIC/PARTITION/OFFSET",
        ),
        (["retry", "applications/0/9"], 1, "there is no such dead letter: applications/0/9;"),
        (["retry"], 2, "say which dead letters: their ids, --reason, --program, --topic, --since, --until, or --all"),
        (["list", "--since", "yesterday"], 2, "--since 'yesterday': give a date such as 2026-11-21, a time such as"),
        (["list", "--topic", "recourse"], 2, "--topic 'recourse': dead letters are of applications, decisions,"),
    ],
)
def test_wrong_flags_are_told_in_one_line(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], args: list[str], code: int, line: str
) -> None:
    assert call(broker, *args) == code
    [printed] = capsys.readouterr().err.splitlines()
    assert line in printed


def test_no_broker_and_no_action_have_their_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dead-letters", "list"]) == 2
    assert "--brokers is missing" in capsys.readouterr().err
    assert main(["dead-letters"]) == 0
    assert "retry  Send them again, each once" in capsys.readouterr().out
