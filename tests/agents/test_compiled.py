"""Compiled functions that call each other."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from onward.agents.compiled import compiled
from onward.tests.support.forked_process import ForkedProcess, script


@compiled
def largest(numbers: np.ndarray) -> float:
    """The largest of them, in an order that numpy does not take."""
    found = numbers[0]
    for number in numbers:
        found = max(found, number)
    return found


@compiled
def spread(numbers: np.ndarray, scale: float = 1.0) -> float:
    """From the least to the largest."""
    return scale * (largest(numbers) + largest(-numbers))


def test_one_may_call_another_of_its_file() -> None:
    numbers = np.array([3.0, -1.0, 2.0])
    assert spread(numbers) == 4.0
    assert spread(numbers, scale=0.5) == 2.0
    assert largest(numbers) == 3.0
    assert spread.__doc__ == "From the least to the largest."


def test_one_of_another_file_is_not_known() -> None:
    from numba import TypingError

    from onward.agents.choices.components.regression_forest import __dict__ as forest

    other = next(value for value in forest.values() if isinstance(value, compiled))

    @compiled
    def call(numbers: np.ndarray) -> object:
        return elsewhere(numbers)  # noqa: F821 -- put there below

    globals()["elsewhere"] = other
    try:
        with pytest.raises(TypingError, match="elsewhere"):
            call(np.zeros(1))
    finally:
        del globals()["elsewhere"]


SCRIPT = """
import sys

import numpy
from numba import config

from onward.agents.compiled import compiled


@compiled
def double(numbers):
    return 2.0 * numbers


config.CACHE_DIR = sys.argv[1]
assert double(numpy.ones(1)) == 2.0
print(sum(double.machine.stats.cache_misses.values()))
"""


def test_of_processes_that_need_the_same_one_compiles_it(tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("one", "two", "three")]
    file = tmp_path / "file.py"
    file.write_text(SCRIPT)
    with ExitStack() as stack:
        each = [ForkedProcess(script, [str(file), str(tmp_path / "kept")], log, {}) for log in logs]
        running = [stack.enter_context(process) for process in each]
        assert [process.wait() for process in running] == [0, 0, 0], [process.last_line() for process in running]
    assert sorted(log.read_text() for log in logs) == ["0\n", "0\n", "1\n"]


RENAMED = """
from typing import NamedTuple

import numpy

from onward.agents.compiled import compiled


class {0}(NamedTuple):
    numbers: numpy.ndarray


@compiled
def total(pair):
    return pair.numbers.sum()


print(total({0}(numpy.arange(4.0))))
"""


def test_what_an_older_version_of_a_file_has_kept_harms_nobody(tmp_path: Path) -> None:
    for name in ("Former", "Latter"):
        (tmp_path / "renamed.py").write_text(RENAMED.format(name))
        run = [sys.executable, "-c", "import renamed"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "6.0\n"), done.stderr
