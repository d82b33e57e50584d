"""The disk of a ledger is full, or can only be read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from onward.faults.fleet import Fleet, Orders, Slot
from onward.faults.site import Site

STATE_ON_DISK = 4
"""What a worker ends with that cannot use its ledger."""
_MEGABYTES = 32
_WAIT_SECONDS = 180.0
_APART_SECONDS = (2.0, 4.0)
_BLOCK = bytes(4096)


def _orders(slot: Slot) -> Orders:
    return Orders(chunk_records=slot.random.choice([20, 200]))


def unavailable() -> str | None:
    """Why there can be no small disk here, if so."""
    if os.geteuid() != 0:
        return "only root can mount a small disk"
    done = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return None if done.returncode == 0 else "nothing can be mounted here"


def full_and_read_only_disk(site: Site) -> None:
    """The disk fills up under a running worker, is given room, is mounted read-only, and can be written again."""
    with _small_disk(site.folder / "disk") as disk:
        fleet = site.fleet(1, _orders, state=disk)
        fleet.expected.add(STATE_ON_DISK)
        rounds = 0
        while site.goes_on(enough=rounds > 0):
            _run_well(site, fleet)
            _fill(site, fleet, disk)
            _run_well(site, fleet)
            _only_read(site, fleet, disk)
            rounds += 1
        site.settle()
        for slot in fleet.slots:
            # What is on the disk is looked at when it is gone.
            kept = site.folder / slot.state.name
            subprocess.run(["cp", "-a", str(slot.state), str(kept)], check=True)
            slot.state = kept


def _run_well(site: Site, fleet: Fleet) -> None:
    fleet.await_work()
    fleet.watch(site.random.uniform(*_APART_SECONDS))


def _fill(site: Site, fleet: Fleet, disk: Path) -> None:
    ballast, before = disk / "ballast", fleet.ends[STATE_ON_DISK]
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(_BLOCK)
    site.say("the disk is full")
    _await_refusal(site, fleet, before, "a full disk")
    ballast.unlink()


def _only_read(site: Site, fleet: Fleet, disk: Path) -> None:
    before = fleet.ends[STATE_ON_DISK]
    # A disk with a file that is open for writing cannot be made read-only.
    [slot] = fleet.slots
    while slot.life is not None and not slot.life.ended:
        slot.life.kill()
    _mount(disk, "remount,ro")
    site.say("the disk is read-only")
    _await_refusal(site, fleet, before, "a read-only disk")
    _mount(disk, "remount,rw")


def _await_refusal(site: Site, fleet: Fleet, before: int, what: str) -> None:
    waited = 0.0
    while fleet.ends[STATE_ON_DISK] == before and waited < _WAIT_SECONDS:
        fleet.watch(0.5)
        waited += 0.5
    if fleet.ends[STATE_ON_DISK] == before:
        site.surprises.append(f"the worker went on for {waited:g} s with {what}")


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", options, str(disk)], check=True)
