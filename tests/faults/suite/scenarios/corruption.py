"""Ledgers, snapshots and the list of snapshots are damaged while no worker has them open."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import cycle
from pathlib import Path
from random import Random
from typing import NamedTuple

from onward.streams.snapshots.store import LIST_FILE
from onward.tests.faults.suite.environment import PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan

_PAGE = 4096
_MAGIC_BYTES = 16
"""Length of the magic string of a SQLite file."""
_INTERIOR_PAGE = 2
"""First byte of an interior index page (SQLite's file format, section 1.6)."""
_APART_SECONDS = (3.0, 6.0)
_REST_SECONDS = 2.0


class _Reported(NamedTuple):
    """Numbers of log messages: ledger is damaged, snapshot is refused, snapshot was restored."""

    damaged: int
    refused: int
    restored: int


def _plan(worker: Worker) -> FaultPlan:
    return FaultPlan(chunk_records=worker.random.choice([20, 200]), rest_seconds=_REST_SECONDS if worker.runs else 0.0)


def damaged_ledgers_and_snapshots(env: ScenarioEnv) -> None:
    """Kill the worker and damage its ledgers, its newest snapshots, or the list of snapshots; start it again."""
    group = env.start_workers(1, _plan)
    [worker] = group.workers
    damages = [_ledgers, _ledgers_and_newest_snapshots, _ledgers_and_lists]
    count = 0
    env.may_damage_snapshots = True
    while env.keep_going(enough=count >= len(damages)):
        group.run_for(env.random.uniform(*_APART_SECONDS))
        # Every partition needs a snapshot before the newest, which may be damaged. One of offset 0 holds nothing: no
        # worker restores it.
        useful = [[snapshot for snapshot in listed if snapshot.ledger.offset] for listed in env.listed_snapshots()]
        if not worker.is_running or any(len(of_partition) <= 1 for of_partition in useful):
            continue
        group.kill(worker)
        before = _reported(group)
        damage = damages[count % len(damages)]
        expected = damage(env, worker)
        count += 1
        env.log(f"damaged:{damage.__name__.replace('_', ' ')}")
        group.wait_for_ledgers(worker, PARTITIONS)
        reported = _Reported(*(now - then for now, then in zip(_reported(group), before, strict=True)))
        if reported != expected:
            name = damage.__name__.strip("_")
            env.surprises.append(f"after damage to {name} {expected} was due, {reported} was said")


def _reported(group: WorkerGroup) -> _Reported:
    return _Reported(*(group.count_messages(text) for text in ("is damaged", "is refused", "restored snapshot")))


def _ledgers(env: ScenarioEnv, worker: Worker) -> _Reported:
    """Damage the ledgers: the newest snapshots are restored."""
    ledgers = sorted(worker.state.glob("*.sqlite"))
    for ledger in ledgers:
        # Pages that are still in the write-ahead log would hide the damage.
        with closing(sqlite3.connect(ledger)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _damage(env.random, ledgers)
    return _Reported(damaged=len(ledgers), refused=0, restored=PARTITIONS)


def _ledgers_and_newest_snapshots(env: ScenarioEnv, worker: Worker) -> _Reported:
    """Damage ledgers and newest snapshots: the snapshots before them are restored."""
    newest = [
        next(env.folder.glob(f"snapshots/*-{at}/{listed_snapshots[0].file}"))
        for at, listed_snapshots in enumerate(env.listed_snapshots())
    ]
    _damage(env.random, newest)
    return _ledgers(env, worker)._replace(refused=len(newest))


def _ledgers_and_lists(env: ScenarioEnv, worker: Worker) -> _Reported:
    """Damage ledgers and lists of snapshots: the ledgers are rebuilt from the journal."""
    for pointer in env.folder.glob(f"snapshots/*/{LIST_FILE}"):
        pointer.write_bytes(pointer.read_bytes()[: env.random.randint(0, 60)])
    return _ledgers(env, worker)._replace(restored=0)


def _damage(random: Random, paths: Iterable[Path]) -> None:
    """Damage every file in another way. The first way, a flipped bit, is the hardest to detect."""
    others: list[Callable[[Random, Path], None]] = [_no_header, _halved, _garbage]
    random.shuffle(others)
    for damage, path in zip(cycle([flip, *others]), paths, strict=False):
        damage(random, path)


def _no_header(random: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[:100] = random.randbytes(100)
    path.write_bytes(content)


def _halved(random: Random, path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // (2 * _PAGE) * _PAGE])


def _garbage(random: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[_PAGE:] = random.randbytes(len(content) - _PAGE)
    path.write_bytes(content)


def flip(random: Random, path: Path) -> None:
    """Flip a bit of a closed ledger in a place that a check must read: many places of a file are never read."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        [(root,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'cases_name'")
    content = bytearray(path.read_bytes())
    page = (root - 1) * _PAGE
    places = [random.randrange(_MAGIC_BYTES), page]
    if int.from_bytes(content[page + 3 : page + 5]):
        places.append(_first_value(content, page))
    content[random.choice(places)] ^= 1 << random.randrange(8)
    path.write_bytes(content)


def _first_value(content: bytearray, page: int) -> int:
    """Return the offset of the first value on an index page (SQLite's file format, sections 1.6 and 2.1)."""
    is_interior = content[page] == _INTERIOR_PAGE
    pointer = page + (12 if is_interior else 8)
    entry = page + int.from_bytes(content[pointer : pointer + 2]) + (4 if is_interior else 0)
    head = entry + next(length for length in range(1, 10) if content[entry + length - 1] < 128)
    return head + content[head]
