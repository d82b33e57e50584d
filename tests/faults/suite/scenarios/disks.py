"""The disk of a ledger is full, or read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.workers.group import Worker, WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan
from onward.tests.faults.suite.workers.process import STATE_LOST

_MEGABYTES = 32
_WAIT_SECONDS = 180.0
_APART_SECONDS = (2.0, 4.0)
_BLOCK = bytes(4096)


def _plan(worker: Worker) -> FaultPlan:
    return FaultPlan(chunk_records=worker.random.choice([20, 200]))


def unavailable() -> str | None:
    """Return why no small disk can be mounted here; None when one can."""
    if os.geteuid() != 0:
        return "only root can mount a small disk"
    done = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return None if done.returncode == 0 else "nothing can be mounted here"


def full_and_read_only_disk(env: ScenarioEnv) -> None:
    """Fill the disk of a running worker and free it again; then mount it read-only and writable again."""
    with _small_disk(env.folder / "disk") as disk:
        group = env.start_workers(1, _plan, state=disk)
        group.allowed_codes.add(STATE_LOST)
        rounds = 0
        while env.keep_going(enough=rounds > 0):
            _run_undisturbed(env, group)
            _fill(env, group, disk)
            _run_undisturbed(env, group)
            _make_read_only(env, group, disk)
            rounds += 1
        env.settle()
        for worker in group.workers:
            # The check reads the ledgers after the disk is unmounted.
            kept = env.folder / worker.state.name
            subprocess.run(["cp", "-a", str(worker.state), str(kept)], check=True)
            worker.state = kept


def _run_undisturbed(env: ScenarioEnv, group: WorkerGroup) -> None:
    group.wait_until_ready()
    group.run_for(env.random.uniform(*_APART_SECONDS))


def _fill(env: ScenarioEnv, group: WorkerGroup, disk: Path) -> None:
    ballast, before = disk / "ballast", group.exit_counts[STATE_LOST]
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(_BLOCK)
    env.log("the disk is full")
    _wait_for_exit(env, group, before, "a full disk")
    ballast.unlink()


def _make_read_only(env: ScenarioEnv, group: WorkerGroup, disk: Path) -> None:
    before = group.exit_counts[STATE_LOST]
    # Linux does not remount a disk read-only while a file is open for writing.
    [worker] = group.workers
    while worker.process is not None and worker.is_running:
        worker.process.kill()
    _mount(disk, "remount,ro")
    env.log("the disk is read-only")
    _wait_for_exit(env, group, before, "a read-only disk")
    _mount(disk, "remount,rw")


def _wait_for_exit(env: ScenarioEnv, group: WorkerGroup, before: int, disk_state: str) -> None:
    waited = 0.0
    while group.exit_counts[STATE_LOST] == before and waited < _WAIT_SECONDS:
        group.run_for(0.5)
        waited += 0.5
    if group.exit_counts[STATE_LOST] == before:
        env.surprises.append(f"the worker went on for {waited:g} s with {disk_state}")


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
