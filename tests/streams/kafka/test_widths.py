"""A worker on a real Kafka whose topics somebody changes."""

from __future__ import annotations

import asyncio
import json
import re

import msgspec
import pytest

from onward.schemas.events import Application
from onward.schemas.headers import read_headers
from onward.schemas.kinds import kinds
from onward.streams import cli
from onward.streams.errors import LedgerError
from onward.streams.journal.lines import line_of, pack_lines
from onward.streams.kafka import service
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.service import run_service, wall_clock_ms
from onward.streams.metrics import Metrics
from onward.streams.records import Record
from onward.tests.support.kafka_handlers import until
from onward.tests.support.kafka_installation import Installation


@pytest.mark.kafka
@pytest.mark.attack
async def test_partitions_added_while_a_worker_runs_end_it_and_no_worker_goes_on(
    cluster, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(service, "TOPIC_CHECK_SECONDS", 1.0)
    there = Installation(cluster, tmp_path)
    running = asyncio.create_task(run_service(there.settings, signals=False))
    await there.answer("ada", running)
    there.add_partitions([there.topics.journal, *there.topics.outputs])
    with pytest.raises(LedgerError, match="the journal has 3 partitions now, and had 1"):
        await running
    for folder in (tmp_path / "state", tmp_path / "empty"):
        settings = there.settings.model_copy(update={"state_dir": folder})
        with pytest.raises(LedgerError, match="the journal has 3 partitions now, and had 1"):
            await run_service(settings, signals=False)
    flags = ["--brokers", ",".join(there.options.brokers), "--topic-prefix", there.prefix, "--replication", "1"]
    assert await asyncio.to_thread(cli.main, ["topics", "check", *flags, "--partitions", "3"]) == 3
    assert f"{there.topics.journal}: its records were written for 1 partitions" in capsys.readouterr().out


@pytest.mark.kafka
@pytest.mark.attack
async def test_a_journal_cut_behind_a_lost_ledger_is_refused(cluster, tmp_path):
    there, stop = Installation(cluster, tmp_path), asyncio.Event()
    running = asyncio.create_task(run_service(there.settings, signals=False, stop=stop))
    await there.answer("ada", running)
    stop.set()
    await running
    there.delete_before(there.topics.journal, 2)
    settings = there.settings.model_copy(update={"state_dir": tmp_path / "empty"})
    line = f"{there.topics.journal} partition 0 begins at offset 2, and there is neither a ledger nor a snapshot of it"
    with pytest.raises(LedgerError, match=line):
        await run_service(settings, signals=False)
    # The worker that has its ledger goes on.
    stop = asyncio.Event()
    running = asyncio.create_task(run_service(there.settings, signals=False, stop=stop))
    await there.answer("bob", running)
    stop.set()
    await running


@pytest.mark.kafka
@pytest.mark.attack
async def test_inputs_that_expired_unread_are_named_and_later_ones_answered(cluster, tmp_path, caplog):
    there, stop = Installation(cluster, tmp_path), asyncio.Event()
    running = asyncio.create_task(run_service(there.settings, signals=False, stop=stop))
    await there.answer("ada", running)
    stop.set()
    await running
    with EventWriter(there.options) as writer:
        for number in range(3):
            writer.send(f"{there.prefix}applications", b"lost %d" % number)
    there.delete_before(f"{there.prefix}applications", 4)
    stop = asyncio.Event()
    running = asyncio.create_task(run_service(there.settings, signals=False, stop=stop))
    await there.answer("bob", running)
    stop.set()
    await running
    assert f"{there.prefix}applications partition 0: the records from offset 1 to 3 were deleted" in caplog.text


@pytest.mark.kafka
async def test_an_input_that_gets_more_partitions_is_read_on_without_a_restart(cluster, tmp_path, capsys):
    """Within a minute; its lag is among the metrics from then on, and ``status`` says who reads it."""
    there, stop, metrics = Installation(cluster, tmp_path), asyncio.Event(), Metrics()
    running = asyncio.create_task(run_service(there.settings, signals=False, stop=stop, metrics=metrics))
    await there.answer("ada", running)
    there.add_partitions([f"{there.prefix}applications"])
    person = Application("steps", "cleo", {"region": "north", "income": 1.0, "debts": 0})
    with EventWriter(there.options) as writer:
        writer.send(f"{there.prefix}applications", msgspec.json.encode(person), headers=[("ce_id", b"c")], partition=2)
    told = []
    with EventReader(there.options, [f"{there.prefix}recourse"]) as reader:
        while not any(b"cleo" in record.value for record in told) and not running.done():
            told += await asyncio.to_thread(reader.poll, 0.5)
    assert any(b"cleo" in record.value for record in told)
    line = f'onward_lag_records{{partition="2",topic="{there.prefix}applications"}} 0.0'.encode()
    await until(lambda: line in metrics.expose())
    flags = ["--brokers", ",".join(there.options.brokers), "--topic-prefix", there.prefix, "--group", there.prefix]
    assert await asyncio.to_thread(cli.main, ["status", *flags, "--json"]) == 0
    rows = {(row["topic"], row["partition"]): row["owner"] for row in json.loads(capsys.readouterr().out)["topics"]}
    [owner] = {rows[there.topics.journal, 0], *(rows[f"{there.prefix}applications", number] for number in range(3))}
    assert re.fullmatch(r"127\.0\.0\.1 [0-9a-f]{8}", owner)
    assert rows[f"{there.prefix}recourse", 0] is None
    stop.set()
    await running


@pytest.mark.kafka
@pytest.mark.attack
async def test_an_input_that_was_made_again_ends_a_running_worker_with_a_line(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "TOPIC_CHECK_SECONDS", 1.0)
    there = Installation(cluster, tmp_path)
    running = asyncio.create_task(run_service(there.settings, signals=False))
    await there.answer("ada", running)
    await asyncio.to_thread(there.make_again, f"{there.prefix}applications")
    line = f"topic {there.prefix}applications partition 0 ends at offset 0, but ledger .* it was recreated"
    with pytest.raises(LedgerError, match=line):
        await running
    with pytest.raises(LedgerError, match=line):
        await run_service(there.settings, signals=False)


@pytest.mark.kafka
@pytest.mark.attack
async def test_a_forged_record_of_the_journal_ends_the_worker_until_it_is_skipped(cluster, tmp_path):
    there, stop = Installation(cluster, tmp_path), asyncio.Event()
    running = asyncio.create_task(run_service(there.settings, signals=False))
    await there.answer("ada", running)
    person = Application("steps", "mallory", {"region": "north", "income": 1.0, "debts": 0})
    headers = read_headers([("ce_id", b"mallory")])
    record = Record(f"{there.prefix}applications", 0, 2**62, 0, None, msgspec.json.encode(person), ())
    [forged] = pack_lines(there.topics.journal, 0, [line_of(headers, kinds["application"], record, record.value)])
    with EventWriter(there.options) as writer:
        writer.send(there.topics.journal, forged.value, timestamp_ms=wall_clock_ms(), partition=0)
    with pytest.raises(
        LedgerError, match=r"offset 4611686018427387904, which ends at offset 1; .*--skip 0:"
    ) as refused:
        await running
    place = re.search(r"--skip (0:[0-9]+)", str(refused.value))[1]
    for settings in (there.settings, there.settings.model_copy(update={"state_dir": tmp_path / "empty"})):
        with pytest.raises(LedgerError, match=f"--skip {place} "):
            await run_service(settings, signals=False)
    for settings in (there.settings.model_copy(update={"skip": (place,)}), there.settings):
        stop = asyncio.Event()
        running = asyncio.create_task(run_service(settings, signals=False, stop=stop))
        await there.answer(f"after-{len(settings.skip)}", running)
        stop.set()
        await running
