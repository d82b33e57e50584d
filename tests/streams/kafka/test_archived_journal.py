"""A worker on a real Kafka that archives its journal and cuts it."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from onward.streams import cli
from onward.streams.archive.month_keys import MonthKeys
from onward.streams.archive.store import Archive
from onward.streams.kafka.admin.offsets import partition_offsets
from onward.streams.kafka.service import run_service
from onward.streams.records import TopicPartition
from onward.tests.support.kafka_installation import Installation

PEOPLE = 30
SOME_SECONDS, FEWER_MINUTES = 1 / 86_400, 0.01


async def answers(there, cuts):
    """Answer people, the last ones when the journal was cut once more; return where it begins."""
    stop, begin = asyncio.Event(), 0
    running = asyncio.create_task(run_service(there.settings, signals=False, stop=stop))
    for number in range(PEOPLE):
        await there.answer(f"p{number}", running, income=10.0 + number % 7, debts=4)
        while cuts and number % 10 == 9:
            [own] = await asyncio.to_thread(partition_offsets, there.options, [there.topics.journal])
            if own.begin > begin:
                begin = own.begin
                break
            assert not running.done()
            await asyncio.sleep(0.2)
    stop.set()
    await running
    return begin


def printed(there, capsys, command, *flags):
    """What a command prints."""
    place = ["--brokers", ",".join(there.options.brokers), "--topic-prefix", there.prefix, "--json"]
    code = cli.main([*command, *place, "--spec", str(there.settings.spec[0]), *flags])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


@pytest.mark.kafka
async def test_a_journal_that_is_cut_while_people_come_is_evaluated_and_replayed_as_a_whole(cluster, tmp_path, capsys):
    folder, script = tmp_path / "cut", tmp_path / "key-of"
    script.write_text(f"#!/bin/sh\necho {base64.b64encode(bytes(32)).decode()}\n")
    script.chmod(0o700)
    address = str(tmp_path / "archive")
    uncut = Installation(cluster, tmp_path / "uncut")
    there = Installation(
        cluster,
        folder,
        snapshots=str(folder / "snapshots"),
        snapshot_minutes=FEWER_MINUTES,
        snapshots_kept=1,
        journal_days=SOME_SECONDS,
        archive=address,
        archive_key_command=str(script),
    )
    # Where a model stands is part of the spec.
    there.settings = there.settings.model_copy(update={"spec": uncut.settings.spec})
    assert await answers(uncut, cuts=False) == 0
    begin = await answers(there, cuts=True)
    journal, archive = TopicPartition(there.topics.journal, 0), Archive(address, MonthKeys(str(script)))
    assert len(archive.segments(journal)) >= PEOPLE // 10
    assert archive.checkpoints(journal)[0].offset <= begin
    flags = ["--archive", address, "--archive-key-command", str(script)]

    found = await asyncio.to_thread(printed, there, capsys, ["evaluate", "--choice", "linucb"], *flags)
    whole = await asyncio.to_thread(printed, uncut, capsys, ["evaluate", "--choice", "linucb"])
    assert found == whole
    # Nobody's window has ended.
    assert found["left_out"]["unfinished"] > 0
    assert sum(found["left_out"].values()) == PEOPLE

    checked = await asyncio.to_thread(printed, there, capsys, ["replay", "--check"], *flags)
    assert checked["differing"] == 0
    assert checked["compared"] > PEOPLE
