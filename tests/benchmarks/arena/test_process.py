from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from onward.tests.support.process import WatchedProcess

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"
FAMILY = """
import subprocess, sys, threading
burn = [sys.executable, "-c", {burn!r}]
subprocess.run(burn)
alive = subprocess.Popen([*burn[:2], burn[2] + "time.sleep(60)"], start_new_session={apart})
print("burnt", alive.pid, flush=True)
alive.wait()
"""


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


@pytest.fixture(params=[False], ids=["one group"])
def family(tmp_path, request):
    """A process that sleeps, whose first child burnt 0.3 s and is gone, and whose second burns as much and sleeps."""
    script = FAMILY.format(burn=BURN.format(seconds=0.3), apart=request.param)
    with WatchedProcess([sys.executable, "-c", script], tmp_path / "log") as process:
        wait_for(lambda: process.last_line().startswith("burnt"))
        yield process


def test_processor_time_includes_children_alive_and_ended(family):
    wait_for(lambda: family.cpu_seconds() > 0.6)
    assert family.cpu_seconds() < 2.0


@pytest.mark.parametrize("family", [False, True], ids=["one group", "a child in its own"], indirect=True)
def test_what_is_held_stands_still_with_its_children(family):
    family.suspend()
    held = family.cpu_seconds()
    time.sleep(0.1)
    assert family.cpu_seconds() == pytest.approx(held, abs=0.005)
    family.resume()
    wait_for(lambda: family.cpu_seconds() > held + 0.02)


def test_a_killed_process_takes_its_children_along(family):
    child = int(family.last_line().split()[1])
    assert min(family.resident_bytes(), family.resident_bytes(peak=True)) > 10_000_000
    family.kill()
    assert family.has_ended
    wait_for(lambda: not alive(child))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # What nobody has waited for is a zombie.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
