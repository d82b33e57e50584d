"""Ledgers and snapshots are damaged while no worker has them open; so is the list of snapshots."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import cycle
from pathlib import Path
from random import Random
from typing import NamedTuple

from onward.faults.fleet import Fleet, Orders, Slot
from onward.faults.site import PARTITIONS, Site
from onward.streams.snapshots.store import POINTER

_PAGE = 4096
_MAGIC_BYTES = 16
"""With which every file of SQLite begins."""
_INNER_PAGE = 2
"""The first byte of a page of an index that leads to others."""
_APART_SECONDS = (3.0, 6.0)
_REST_SECONDS = 2.0


class _Noticed(NamedTuple):
    """How often workers have said so: a ledger is damaged, a snapshot is refused, a snapshot was restored."""

    damaged: int
    refused: int
    restored: int


def _orders(slot: Slot) -> Orders:
    return Orders(chunk_records=slot.random.choice([20, 200]), rest_seconds=_REST_SECONDS if slot.lives else 0.0)


def damaged_ledgers_and_snapshots(site: Site) -> None:
    """The worker is killed; its ledgers, or its newest snapshots, or both are damaged; it is started again."""
    fleet = site.fleet(1, _orders)
    [slot] = fleet.slots
    damages = [_ledgers, _ledgers_and_newest_snapshots, _ledgers_and_lists]
    hits = 0
    site.damages = True
    while site.goes_on(enough=hits >= len(damages)):
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        # The newest may be damaged, and there is to be one before it.
        if slot.life is None or slot.life.ended or any(len(listed) <= 1 for listed in site.listed()):
            continue
        fleet.kill(slot)
        before, opened = _noticed(fleet), fleet.opened()
        how = damages[hits % len(damages)]
        wanted = how(site, slot)
        hits += 1
        site.say(f"damaged:{how.__name__.replace('_', ' ')}")
        fleet.await_opened(opened + PARTITIONS)
        noticed = _Noticed(*(now - then for now, then in zip(_noticed(fleet), before, strict=True)))
        if noticed != wanted:
            site.surprises.append(f"after damage to {how.__name__.strip('_')} {wanted} was due, {noticed} was said")


def _noticed(fleet: Fleet) -> _Noticed:
    return _Noticed(fleet.said("is damaged"), fleet.said("is refused"), fleet.said("restored snapshot"))


def _ledgers(site: Site, slot: Slot) -> _Noticed:
    """The newest snapshots take their place."""
    ledgers = sorted(slot.state.glob("*.sqlite"))
    for ledger in ledgers:
        # What is still in its write-ahead log would hide the damage.
        with closing(sqlite3.connect(ledger)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _damage(site.random, ledgers)
    return _Noticed(damaged=len(ledgers), refused=0, restored=PARTITIONS)


def _ledgers_and_newest_snapshots(site: Site, slot: Slot) -> _Noticed:
    """Those before the newest take their place."""
    newest = [next(site.folder.glob(f"snapshots/*-{at}/{listed[0].file}")) for at, listed in enumerate(site.listed())]
    _damage(site.random, newest)
    return _ledgers(site, slot)._replace(refused=len(newest))


def _ledgers_and_lists(site: Site, slot: Slot) -> _Noticed:
    """They are made anew from the journal."""
    for pointer in site.folder.glob(f"snapshots/*/{POINTER}"):
        pointer.write_bytes(pointer.read_bytes()[: site.random.randint(0, 60)])
    return _ledgers(site, slot)._replace(restored=0)


def _damage(random: Random, paths: Iterable[Path]) -> None:
    """One after the other in other ways, of which the one that is hardest to see is never left out."""
    others: list[Callable[[Random, Path], None]] = [_no_header, _halved, _garbage]
    random.shuffle(others)
    for damage, path in zip(cycle([flip, *others]), paths, strict=False):
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


def flip(random: Random, path: Path) -> None:
    """Flip a bit of a ledger that nobody has open where a check must see it: many places of a file are never read."""
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
    """Where the first entry of an index's page has its first value (SQLite's file format, sections 1.6 and 2.1)."""
    inner = content[page] == _INNER_PAGE
    pointer = page + (12 if inner else 8)
    entry = page + int.from_bytes(content[pointer : pointer + 2]) + (4 if inner else 0)
    head = entry + next(length for length in range(1, 10) if content[entry + length - 1] < 128)
    return head + content[head]
