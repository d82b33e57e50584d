"""The damage that the fault suite does to ledgers is detected."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

import pytest

from onward.streams.errors import DamagedLedgerError
from onward.streams.ledger.check import check_ledger
from onward.testing.tape import MINUTE_MS, TIMED, tape
from onward.tests.faults.suite.scenarios.corruption import flip


@pytest.fixture(scope="module", params=[0, 3, 300])
def ledger(request, tmp_path_factory):
    """Ledgers without cases, with a few, and with enough for interior index pages."""
    story = tape(tmp_path_factory.mktemp("story"), **TIMED)
    for number in range(request.param):
        story.applies(f"{number:03}", number * MINUTE_MS // 100)
    story.tick(0)
    path = story.fold()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def test_a_flipped_bit_is_detected(ledger, tmp_path):
    good, path = ledger.read_bytes(), tmp_path / ledger.name
    path.write_bytes(good)
    check_ledger(path)
    for seed in range(40):
        path.write_bytes(good)
        flip(Random(seed), path)
        damaged = path.read_bytes()
        assert sum((a ^ b).bit_count() for a, b in zip(good, damaged, strict=True)) == 1
        with pytest.raises(DamagedLedgerError):
            check_ledger(path)
