"""Machine code reads and writes whatever lies at an address: here it is made to look where its arrays end."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onward.agents
from onward.agents.compiled import compiled

RUNS = Path(__file__).with_name("test_choices_on_programs.py")
"""All choices with few candidates and many: runs and single steps, rewards, people who never looked, restoring."""

BEYOND = """
import numpy as np
from onward.agents.compiled import compiled

@compiled
def last(numbers):
    return numbers[len(numbers)]

print(last(np.zeros(3)))
"""


def checked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with every access checked, and everything compiled anew."""
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder / "compiled")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=RUNS.parents[2])


def all_compiled() -> Iterator[str]:
    """The compiled functions of all rooms, as module.function."""
    for module in pkgutil.walk_packages(onward.agents.__path__, "onward.agents."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, compiled) and value.__module__ == module.name:
                yield f"{module.name.rpartition('.')[2]}.{name}"


def test_an_access_beyond_the_end_is_found(tmp_path: Path) -> None:
    script = tmp_path / "beyond.py"
    script.write_text(BEYOND)
    done = checked(tmp_path, str(script))
    assert done.returncode == 1
    assert "IndexError: index is out of bounds" in done.stderr


@pytest.mark.timeout(400)  # Everything is compiled anew: 40 s of processor time.
def test_no_choice_reaches_beyond_its_arrays(tmp_path: Path) -> None:
    done = checked(tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "--hypothesis-seed=0", str(RUNS))
    assert done.returncode == 0, done.stdout
    reached = {path.name.partition("-")[0] for path in (tmp_path / "compiled").rglob("*.nbi")}
    assert set(all_compiled()) <= reached
