"""``onward erase``: an erasure is sent, and what still names people is found."""

from __future__ import annotations

import asyncio
import base64
import bz2
import gzip
import io
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import msgspec
import pytest

from onward.schemas.events import Erased, Erasure
from onward.streams.archive.store import Archive, CheckpointFile, SegmentFile
from onward.streams.cli import main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record
from onward.streams.settings import BrokerSettings
from onward.streams.snapshots.store import Snapshots
from onward.testing.tape import DAY_MS, JOURNAL, TIMED, tape
from onward.tests.support.installations import TOPICS
from onward.tests.support.raw_batches import NO_NAME, batch, send

NAME = "canary Zoë"
KEYS = "--archive-key-command"
NOBODY = "the archive has files that nobody can open: there is no key of "


def verified(broker, capsys, *flags: str) -> tuple[int, dict[str, object]]:
    """The exit code, and the JSON."""
    code = main(["erase", "verify", NAME, "--brokers", broker.bootstrap, "--json", *flags])
    return code, json.loads(capsys.readouterr().out)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("flags", "event"),
    [(["--application", NAME], Erasure("loan", NAME)), (["--applicant", NAME], Erasure("loan", applicant=NAME))],
)
def test_an_erasure_is_sent_under_an_id_that_names_nobody(broker, capsys, flags, event):
    assert main(["erase", "send", "--brokers", broker.bootstrap, "--program", "loan", *flags]) == 0
    assert NAME not in capsys.readouterr().out
    with EventReader(broker.options(), [TOPICS.erasures]) as reader:
        [record] = reader.poll(5)
    assert msgspec.json.decode(record.value, type=Erasure) == event
    headers = dict(record.headers)
    assert headers["ce_type"] == b"onward.erasure.v1"
    assert b"canary" not in headers["ce_id"] + (record.key or b"")


@pytest.mark.parametrize("flags", [[], ["--application", "a", "--applicant", "b"]])
def test_an_erasure_is_of_one_person(broker, capsys, flags):
    assert main(["erase", "send", "--brokers", broker.bootstrap, "--program", "loan", *flags]) == 2
    assert "either --application or --applicant" in capsys.readouterr().err


def test_traces_in_topics_may_stay_until_their_retention_is_over(broker, capsys):
    write(broker, TOPICS.applications, now_ms(), value=json.dumps({"application": NAME}).encode())
    write(broker, TOPICS.rewards, now_ms() - 20 * DAY_MS, id=f"reward/loan/{NAME}")
    code, found = verified(broker, capsys)
    assert code == 0
    # The topics are read side by side.
    assert sorted((trace["place"], trace["note"], trace["left"]) for trace in found["traces"]) == [
        ("applications/0/0", "value", False),
        ("rewards/0/0", "header ce_id", False),
    ]


@pytest.mark.parametrize(
    ("topic", "days", "flags", "code"),
    [
        (TOPICS.applications, 9, [], 1),
        (TOPICS.rewards, 31, [], 1),
        (TOPICS.journal, 0, [], 1),
        (TOPICS.journal, 20, ["--journal-days", "28"], 0),
        (TOPICS.journal, 31, ["--journal-days", "28"], 1),
    ],
)
def test_a_trace_that_should_be_gone_is_an_error(broker, capsys, topic, days, flags, code):
    write(broker, topic, now_ms() - days * DAY_MS, value=NAME.encode())
    assert verified(broker, capsys, *flags)[0] == code


def test_names_come_from_standard_input_and_are_not_printed(broker, capsys, monkeypatch, tmp_path):
    log = tmp_path / "log"
    log.write_text(f"it is {NAME}, and no other\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"nobody\n{NAME}\n"))
    assert main(["erase", "verify", "--brokers", broker.bootstrap, "--log", str(log)]) == 1
    printed = capsys.readouterr().out
    assert "canary" not in printed
    assert f"{log}: file (#2), should be gone: nothing ends it" in printed
    assert "2 names: 1 traces, of which 1 should be gone" in printed


def test_rows_of_people_in_a_bundle_are_found_also_in_compressed_files(broker, capsys, written_program, tmp_path):
    bundle = Path(shutil.copytree(written_program, tmp_path / "bundle"))
    assert verified(broker, capsys, "--bundle", str(bundle)) == (0, {"left": 0, "unsearched": 0, "traces": []})
    (bundle / "data").mkdir()
    (bundle / "data" / "rows.csv.gz").write_bytes(gzip.compress(f"name,income\n{NAME},100\n".encode()))
    code, found = verified(broker, capsys, "--bundle", str(bundle))
    assert code == 1
    assert [(trace["place"], trace["left"]) for trace in found["traces"]] == [
        (str(bundle / "data" / "rows.csv.gz"), True)
    ]


def test_a_ledger_that_holds_a_person_is_an_error_until_they_are_erased(broker, capsys, tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies(NAME)
    folder = story.fold().parent
    code, found = verified(broker, capsys, "--state-dir", str(folder))
    assert code == 1
    assert {"table cases", "table timers"} <= {trace["note"] for trace in found["traces"]}
    story.send("erasures", Erasure("loan", NAME), 1, "e")
    story.fold()
    assert verified(broker, capsys, "--state-dir", str(folder)) == (0, {"left": 0, "unsearched": 0, "traces": []})


def test_a_longer_name_in_a_ledger_is_somebody_else(broker, capsys, tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("a-171")
    folder = str(story.fold().parent)
    assert main(["erase", "verify", "a-17", "--brokers", broker.bootstrap, "--state-dir", folder]) == 0
    assert main(["erase", "verify", "a-171", "--brokers", broker.bootstrap, "--state-dir", folder]) == 1


@pytest.mark.attack
def test_snapshots_below_the_state_folder_may_stay_as_long_as_others(broker, capsys, tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies(NAME)
    ledger = story.fold()
    address = ledger.parent / "snapshots"
    snapshots = Snapshots(str(address), keep=3)
    snapshots.enlist(snapshots.send(ledger, JOURNAL, 1, Event()))
    story.send("erasures", Erasure("loan", NAME), 1, "e")
    story.fold()
    state = ["--state-dir", str(ledger.parent)]
    for place in (str(address), address.as_uri()):
        code, found = verified(broker, capsys, *state, "--snapshots", place)
        assert code == 0
        assert {trace["note"] for trace in found["traces"]} == {"table cases", "table timers"}
    assert verified(broker, capsys, *state)[0] == 1


@pytest.mark.attack
def test_a_header_whose_name_is_not_utf_8_hides_no_other(broker, capsys):
    headers = [(b"trace", NAME.encode()), (NO_NAME, b"nobody")]
    asyncio.run(send(broker.options(), TOPICS.applications, batch([b"{}"], [headers], now_ms())))
    assert [trace["note"] for trace in verified(broker, capsys)[1]["traces"]] == ["header trace"]


@pytest.mark.attack
def test_what_was_not_searched_is_an_error(broker, capsys):
    write(broker, TOPICS.applications, now_ms(), value=bz2.compress(bytes(100 << 20)))
    code, found = verified(broker, capsys)
    assert code == 1
    assert found["unsearched"] == 1
    assert main(["erase", "verify", NAME, "--brokers", broker.bootstrap]) == 1
    assert "1 traces, of which 0 should be gone, and 1 were not searched" in capsys.readouterr().out


def test_who_must_be_gone_is_asked_for(broker, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["erase", "verify", "--brokers", broker.bootstrap]) == 2
    assert "say who must be gone" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_told(broker, capsys, tmp_path: Path):
    flags = ["--brokers", broker.bootstrap, "--state-dir", str(tmp_path / "nowhere")]
    assert main(["erase", "verify", NAME, *flags]) == 2


def write(broker, topic: str, time_ms: int, value: bytes = b"{}", id: str = "x") -> None:
    """Write a record."""
    with EventWriter(broker.options()) as writer:
        writer.send(topic, value, headers=[("ce_id", id.encode())], timestamp_ms=time_ms, partition=0)


def test_a_running_worker_forgets_within_a_minute(broker, program, tmp_path, capsys):
    state, snapshots, log = tmp_path / "state", tmp_path / "snapshots", tmp_path / "log"
    flags = ["--spec", str(program / "spec.yaml"), "--state-dir", str(state), "--no-web", "--tick-seconds", "1"]
    flags += ["--snapshots", str(snapshots), "--snapshot-minutes", "0.02", "--snapshots-kept", "1"]
    files = ["--state-dir", str(state), "--snapshots", str(snapshots), "--log", str(log), "--journal-days", "28"]
    name = load_program_spec(program / "spec.yaml").spec.program
    with WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, log):
        event = {"program": name, "application": NAME, "features": {}, "applicant": f"who {NAME}"}
        write(
            broker, TOPICS.applications, now_ms(), json.dumps({**event, "features": features(program)}).encode(), NAME
        )
        wait_for(lambda: records(broker, TOPICS.model_decisions))
        assert verified(broker, capsys, *files)[0] == 1
        sent = ["--brokers", broker.bootstrap, "--program", name, "--applicant", f"who {NAME}"]
        assert main(["erase", "send", *sent]) == 0
        capsys.readouterr()
        wait_for(lambda: records(broker, TOPICS.rewards))
        wait_for(lambda: verified(broker, capsys, *files)[0] == 0)
        wait_for(lambda: not on_disk(verified(broker, capsys, *files)[1]))
    assert verified(broker, capsys, *files)[0] == 0
    receipts = [msgspec.json.decode(record.value, type=Erased) for record in records(broker, TOPICS.rewards)]
    assert sum(receipt.cases for receipt in receipts) == 1


def on_disk(found: dict[str, object]) -> list[object]:
    """The traces that are not in topics."""
    return [trace for trace in found["traces"] if trace["place"].startswith("/")]


def features(program: Path) -> dict[str, object]:
    """Somebody's features: the first categories, the lowest numbers."""
    own = load_program_spec(program / "spec.yaml").spec.features
    return {one.name: (one.levels or one.categories or one.bounds)[0] for one in own}


def records(broker, topic: str) -> list[Record]:
    """The records of a topic."""
    with EventReader(broker.options(), [topic]) as reader:
        return reader.poll(1)


def wait_for(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    while not holds():
        time.sleep(0.2)


@pytest.fixture
def archived(tmp_path):
    """Writes an archive with a person in a segment of one month and in a checkpoint of the next."""
    story = tape(tmp_path / "story", **TIMED)
    story.applies(NAME)
    ledger = story.fold()

    def write_archive(keys) -> str:
        archive = Archive(str(tmp_path / "archive"), keys)
        records = [*story.journal]
        archive.write_segment(SegmentFile(JOURNAL, 0, len(records), "2026-09"), records)
        archive.write_checkpoint(CheckpointFile(JOURNAL, len(records), "2026-10"), ledger, Event())
        return str(tmp_path / "archive")

    return write_archive


def keys_but(folder: Path, *dropped: str) -> str:
    """A command that prints the keys of all months but those that were dropped."""
    script = folder / "key-of"
    cases = "".join(f"{month}) ;;\n" for month in dropped)
    key = base64.b64encode(bytes(32)).decode()
    script.write_text(f'#!/bin/sh\ncase "$1" in\n{cases}*) echo {key} ;;\nesac\n')
    script.chmod(0o700)
    return str(script)


def test_an_archive_holds_everybody_until_its_files_are_gone(broker, capsys, archived):
    code, found = verified(broker, capsys, "--archive", archived(None))
    assert code == 1
    segment, *checkpoint = [(Path(trace["place"]).suffix, trace["note"], trace["left"]) for trace in found["traces"]]
    assert segment == (".gz", "file", True)
    assert (".sqlite", "table cases", True) in checkpoint


def test_a_sealed_archive_forgets_with_the_keys_of_all_months(broker, capsys, archived, tmp_path):
    flags = ["--archive", archived(lambda _: bytes(32))]
    code, found = verified(broker, capsys, *flags)
    assert (code, found["left"]) == (1, 2)
    assert {(trace["note"], *trace["names"]) for trace in found["traces"]} == {
        ("sealed, and not opened: give --archive-key-command", 0)
    }
    for dropped, traces in (((), "gz sqlite"), (("2026-09",), "sqlite"), (("2026-09", "2026-10"), "")):
        command = keys_but(tmp_path, *dropped)
        assert main(["erase", "verify", NAME, "--brokers", broker.bootstrap, "--json", *flags, KEYS, command]) == bool(
            traces
        )
        out, err = capsys.readouterr()
        assert {Path(trace["place"].removesuffix(".sealed")).suffix[1:] for trace in json.loads(out)["traces"]} == set(
            traces.split()
        )
        assert err == (f"{NOBODY}{', '.join(dropped)}\n" if dropped else "")


def test_what_is_sealed_and_cannot_be_opened_is_not_known_to_be_clean(broker, capsys, archived, tmp_path):
    address = archived(lambda _: bytes([1]) * 32)
    code, found = verified(broker, capsys, "--archive", address, KEYS, keys_but(tmp_path))
    assert code == 1
    assert {trace["note"] for trace in found["traces"]} == {
        "sealed, and not opened: it was sealed with another key of its month"
    }
    flags = ["--brokers", broker.bootstrap, "--archive", address, KEYS]
    assert main(["erase", "verify", NAME, *flags, "false"]) == 2
    assert "--archive: false 2026-09 ended with 1" in capsys.readouterr().err
