"""Fuzz every target, guided by coverage: ``make fuzz``, or ``make fuzz INPUTS=100000 SEED=7 ONLY="spec table"``.

Each target runs in a process of its own (``fuzz_guided.py``), one after the other. Ends with a table, and with code 1
when an input failed; the smallest input of each failure stays in ``build/fuzz``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from fuzz_targets import TARGETS
from msgspec import json
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "fuzz"
IN_MEMORY = Path("/dev/shm")
FEWEST_INPUTS = 100
KEPT_LINES = 30
"""Of what a process said that did not end well."""
TOLD_SECONDS = 30.0
"""Where nobody watches a progress bar, a line this often."""

_STATUS = re.compile(r"#(\d+)\s.* cov: (\d+) ")
_PEAK = re.compile(r"stat::peak_rss_mb:\s+(\d+)")


@dataclass
class Result:
    """What became of a target."""

    name: str
    inputs: int = 0
    edges: int = 0
    slowest_seconds: float = 0.0
    peak_mb: int = 0
    failures: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Take a line of the process."""
        if line.startswith("{"):
            told: dict[str, Any] = json.decode(line)
            self.slowest_seconds = told["seconds"]
            if told["failure"]:
                self.failures.append(f"{told['failure']}\n    {told['kept']}")
        elif status := _STATUS.match(line):
            self.inputs, self.edges = int(status[1]), int(status[2])
        elif peak := _PEAK.match(line):
            self.peak_mb = int(peak[1])


def main() -> int:
    """Run all targets and print the table."""
    parser = argparse.ArgumentParser(description="Fuzz every decoder, guided by coverage.")
    parser.add_argument("--inputs", type=int, default=20_000, help="inputs of a cheap target (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="other numbers, other inputs (default %(default)s)")
    parser.add_argument("only", nargs="*", metavar="TARGET", help=f"one of {', '.join(TARGETS)}")
    arguments = parser.parse_args()
    names = arguments.only or list(TARGETS)
    if unknown := sorted(set(names) - TARGETS.keys()):
        parser.error(f"there is no target {', '.join(unknown)}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    console, started = Console(), monotonic()
    results = [run(name, arguments.inputs, arguments.seed, console) for name in names]
    report(results, console)
    console.print(
        f"{sum(result.inputs for result in results):,} inputs in {monotonic() - started:.0f} s, seed {arguments.seed}"
    )
    return 1 if any(result.failures for result in results) else 0


def run(name: str, inputs: int, seed: int, console: Console) -> Result:
    """One target to its end."""
    result, said = Result(name), deque[str](maxlen=KEPT_LINES)
    wanted = max(FEWEST_INPUTS, round(inputs * TARGETS[name].share))
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[more]}"),
    )
    bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)
    with bar, process(name, wanted, seed) as child:
        task, told = bar.add_task(name, total=wanted, more=""), monotonic()
        for line in child.stdout or ():
            said.append(line)
            result.read(line)
            more = f"{result.edges} edges, {len(result.failures)} failures"
            bar.update(task, completed=result.inputs, more=more)
            if not console.is_terminal and monotonic() - told > TOLD_SECONDS:
                told = monotonic()
                print(f"{name}: {result.inputs:,} of {wanted:,} inputs, {more}", flush=True)
    if child.returncode:
        result.failures.append(f"ended with code {child.returncode}:\n    " + "    ".join(said))
    return result


@contextmanager
def process(name: str, inputs: int, seed: int) -> Iterator[subprocess.Popen[str]]:
    """The process of a target, which has ended when the block has; its files are in memory where they can be."""
    parent = IN_MEMORY if IN_MEMORY.is_dir() else None
    command = [
        sys.executable,
        str(Path(__file__).with_name("fuzz_guided.py")),
        name,
        str(inputs),
        str(seed),
        str(FOLDER),
    ]
    with tempfile.TemporaryDirectory(prefix="onward-fuzz-", dir=parent) as place:
        env = os.environ | {"PYTHONHASHSEED": "0", "TMPDIR": place}
        with subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as child:
            try:
                yield child
            except BaseException:
                child.kill()
                raise


def report(results: Sequence[Result], console: Console) -> None:
    """The table, and every failure."""
    table = Table()
    for column in ("target", "inputs", "edges", "slowest ms", "peak MB", "failures"):
        table.add_column(column, justify="left" if column == "target" else "right")
    for result in results:
        slowest = f"{result.slowest_seconds * 1000:,.1f}"
        counts = (f"{result.inputs:,}", f"{result.edges:,}", slowest, f"{result.peak_mb:,}", f"{len(result.failures)}")
        table.add_row(result.name, *counts)
    console.print(table)
    for result in results:
        for failure in result.failures:
            print(f"{result.name}: {failure}")


if __name__ == "__main__":
    sys.exit(main())
