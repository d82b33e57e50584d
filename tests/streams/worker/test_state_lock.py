"""Two workers on one state folder: the second is refused, and a crash releases the folder."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from onward.streams.cli.flags.output_paths import check_state_dir
from onward.streams.errors import LedgerError
from onward.streams.worker.state_lock import lock_state

KEEP = """
import sys, time
from pathlib import Path
from onward.streams.worker.state_lock import lock_state
with lock_state(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    """Ledgers hold personal data."""
    with lock_state(tmp_path / "parent" / "state"):
        assert stat.S_IMODE((tmp_path / "parent" / "state").stat().st_mode) == 0o700


def test_the_check_of_a_new_folder_makes_it_its_owners_alone(tmp_path: Path) -> None:
    check_state_dir(tmp_path / "parent" / "state")
    assert stat.S_IMODE((tmp_path / "parent" / "state").stat().st_mode) == 0o700


def test_a_folder_that_everybody_can_read_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    with lock_state(tmp_path / "state"):
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o755
    assert "other users of this machine can read" in caplog.text


def test_the_second_worker_is_refused_in_one_line_that_names_the_first(tmp_path: Path) -> None:
    with (
        lock_state(tmp_path / "state"),
        pytest.raises(LedgerError, match=rf"state: another worker \(process {os.getpid()}\) keeps") as refusal,
        lock_state(tmp_path / "state"),
    ):
        pass
    assert "\n" not in str(refusal.value)
    assert refusal.value.exit_code == 4


def test_a_worker_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KEEP, str(tmp_path)], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"locked\n"
        with pytest.raises(LedgerError, match=f"process {worker.pid}"), lock_state(tmp_path):
            pass
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        with lock_state(tmp_path):
            pass


def test_a_folder_is_free_again_when_its_worker_has_ended(tmp_path: Path) -> None:
    for _ in range(2):
        with lock_state(tmp_path):
            pass
