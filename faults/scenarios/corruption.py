"""Ledgers and snapshots are damaged while no worker has them open; so is the list of snapshots."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

from onward.faults.fleet import Orders, Slot
from onward.faults.site import PARTITIONS, Site
from onward.streams.snapshots import POINTER

_PAGE = 4096
_APART_SECONDS = (3.0, 6.0)
_REST_SECONDS = 2.0


def _orders(slot: Slot) -> Orders:
    return Orders(chunk_records=slot.random.choice([20, 200]), rest_seconds=_REST_SECONDS if slot.lives else 0.0)


def damaged_ledgers_and_snapshots(site: Site) -> None:
    """The worker is killed; its ledgers, or its newest snapshots, or both are damaged; it is started again."""
    fleet = site.fleet(1, _orders)
    [slot] = fleet.slots
    damages = [_ledger, _ledger_and_newest_snapshot, _ledger_and_list]
    hits = 0
    while site.goes_on(enough=hits >= len(damages)):
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        if slot.life is None or slot.life.ended or not any(site.snapshots.glob(f"*/{POINTER}")):
            continue
        fleet.kill(slot)
        before, opened = fleet.said("is damaged"), fleet.opened()
        how = damages[hits % len(damages)]
        count = how(site, slot)
        hits += 1
        site.say(f"damaged:{how.__name__.replace('_', ' ')}, {count} partitions")
        fleet.await_opened(opened + PARTITIONS)
        noticed = fleet.said("is damaged") - before
        if noticed != count:
            site.surprises.append(f"{count} ledgers were damaged, {noticed} were said to be")
    if not fleet.said("is refused"):
        site.surprises.append("no damaged snapshot was refused")


def _ledger(site: Site, slot: Slot) -> int:
    ledgers = sorted(slot.state.glob("*.sqlite"))
    for ledger in ledgers:
        # What is still in its write-ahead log would hide the damage.
        with closing(sqlite3.connect(ledger)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _damage(site.random, ledger)
    return len(ledgers)


def _ledger_and_newest_snapshot(site: Site, slot: Slot) -> int:
    for folder in site.snapshots.iterdir():
        newest = max(folder.glob("*.sqlite"), default=None)
        if newest is not None:
            _damage(site.random, newest)
    return _ledger(site, slot)


def _ledger_and_list(site: Site, slot: Slot) -> int:
    for pointer in site.snapshots.glob(f"*/{POINTER}"):
        pointer.write_bytes(pointer.read_bytes()[: site.random.randint(0, 60)])
    return _ledger(site, slot)


def _damage(random: Random, path: Path) -> None:
    damage: Callable[[Random, Path], None] = random.choice([_no_header, _halved, _garbage])
    damage(random, path)


def _no_header(random: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[:100] = random.randbytes(100)
    path.write_bytes(content)


def _halved(random: Random, path: Path) -> None:  # noqa: ARG001
    path.write_bytes(path.read_bytes()[: path.stat().st_size // (2 * _PAGE) * _PAGE])


def _garbage(random: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[_PAGE:] = random.randbytes(len(content) - _PAGE)
    path.write_bytes(content)
