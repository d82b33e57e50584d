"""Writes the speed figures of the docs, all from one commit: ``python -m onward.benchmarks.performance --data DIR``.

It runs the benchmarks of ``RUNS`` one after the other, and keeps their rows in docs/measured/performance.json. A run
that has ended is kept in ``build/performance``, so that a command that is given again goes on behind it. The tables of
docs/measured/performance.md are made from that file. No other page of docs, and not the README, has a figure of speed
that is not in it; a test compares them. Let nothing else run on the machine meanwhile: it takes about half an hour.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.figures import SEPARATOR
from onward.deploy.generate.page_tables import table_of, with_tables
from onward.streams.errors import OnwardError, UsageError

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "docs" / "measured"
KEPT = ROOT / "build" / "performance"
"""A folder of finished runs for each pair of commits."""
RECORD, PAGE = MEASURED / "performance.json", MEASURED / "performance.md"
DATA, OTHER = "DIR", "../other/.venv/bin/python"
"""What stands in the commands that are shown, in place of the folders of this machine."""


class Run(NamedTuple):
    """A benchmark that is run for the docs. ``shown`` are the rows that the page has, by pattern of their names."""

    name: str
    arguments: Sequence[str] = ()
    reads_data: bool = False
    is_paired: bool = False
    shown: str = ""

    @property
    def title(self) -> str:
        """The name of its table."""
        return f"{self.name}, paired" if self.is_paired else self.name

    def command(self, data: str, other: str) -> Sequence[str]:
        """What Python is given."""
        paired = ("--against", other) if self.is_paired else ()
        read = ("--data", data) if self.reads_data else ()
        return "-m", f"onward.benchmarks.{self.name}", *self.arguments, *read, *paired


RUNS = (
    Run("pipeline", ("--snapshot-seconds", "600"), shown=r"^onward as drafted|by its CPU$|by CPU$|p50|p99 at"),
    Run(
        "pipeline",
        ("--snapshot-seconds", "600", "--windows", "6", "--latency-seconds", "10"),
        is_paired=True,
        shown=r"^onward / other",
    ),
    Run("options", ("--drafts-alone", "--drafted-people", "10"), reads_data=True, is_paired=True),
    Run("trees", ("--people", "40"), reads_data=True, is_paired=True, shown="a person|ratio"),
    Run("first_answer", ("--repeats", "1"), reads_data=True),
    Run("workers", ("--applications", "1000"), shown="catch up|an application|faster|applications$"),
    Run("reasons"),
)


class Measured(msgspec.Struct, frozen=True):
    """The rows of a run, and the command that printed them."""

    command: str
    rows: Sequence[Row]


class Record(msgspec.Struct, frozen=True):
    """All runs, by the title of their table. ``against`` is the commit beside which versions are compared."""

    commit: str
    against: str
    python: str
    machine: str
    runs: Mapping[str, Measured]


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    against: Path | None = field(
        default=None,
        metadata={"help": "Python of another checkout, beside which this one is compared", "metavar": OTHER},
    )
    runs: tuple[str, ...] = field(
        default=tuple(dict.fromkeys(run.name for run in RUNS)),
        metadata={"metavar": "A,B", "help": "run these alone, and write nothing into the docs"},
    )


def performance(args: Args) -> Iterator[Row]:
    """The rows of all runs; where every benchmark has run, the docs are written."""
    _check(args)
    runs = [run for run in RUNS if run.name in args.runs]
    found: dict[str, Measured] = {}
    commit = _commit(ROOT, refuse_changes=not args.quick)
    other = "alone" if args.against is None else _commit(args.against.absolute().parents[2])
    for run in runs:
        found[run.title] = _measured(run, args, KEPT / f"{commit}-{other}" / f"{run.title}.json")
        for row in found[run.title].rows:
            yield msgspec.structs.replace(row, name=f"{run.title}: {row.name}")
    if args.quick or len(runs) < len(RUNS):
        progress("nothing is written into the docs: that takes every run, in full")
        return
    machine = f"{os.cpu_count()} cores of {platform.machine()}"
    record = Record(commit, other, platform.python_version(), machine, found)
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    PAGE.write_text(page_of(record, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    progress(f"{RECORD.relative_to(ROOT)} and {PAGE.relative_to(ROOT)} are written")


def read_record() -> Record:
    """What the docs were written from."""
    return msgspec.json.decode(RECORD.read_bytes(), type=Record)


def page_of(record: Record, text: str) -> str:
    """The text of the page, with the tables of all runs."""
    tables = {run.title: "\n".join(_lines(run, record.runs[run.title])) for run in RUNS}
    about = f"Commit {record.commit}, beside {record.against}; Python {record.python}, {record.machine}."
    return with_tables(PAGE.name, text, tables | {"run": about})


def shown_value(value: float) -> str:
    """A figure as pages show it: three digits, or a whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _check(args: Args) -> None:
    known = {run.name for run in RUNS}
    if unknown := set(args.runs) - known:
        raise UsageError(f"--runs {min(unknown)}: there are {', '.join(sorted(known))}")
    for run in RUNS:
        if run.name in args.runs and run.is_paired and args.against is None and not args.quick:
            raise UsageError(f"{run.title}: say beside which checkout with --against {OTHER}")
        if run.name in args.runs and run.reads_data and args.data is None and not args.quick:
            raise UsageError(f"{run.title}: say where the data sets are with --data {DATA}")


def _commit(folder: Path, *, refuse_changes: bool = False) -> str:
    """The commit that is checked out in a folder; raise ``OnwardError`` where it is none, or has changes."""
    git = ["git", "-C", str(folder)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True, text=True)
        changed = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        raise OnwardError(f"{folder} is no checkout of git: figures could not be said to be of a commit") from None
    if refuse_changes and changed.stdout.strip():
        raise OnwardError("the checkout has changes: figures would be of no commit; commit or stash them")
    return commit.stdout.strip()


def _measured(run: Run, args: Args, kept: Path) -> Measured:
    """Run a benchmark in a process of its own, or read what it said of the same commits; a quick one is not kept."""
    if kept.exists() and not args.quick:
        progress(f"{run.title} was measured: {kept.relative_to(ROOT)}")
        return msgspec.json.decode(kept.read_bytes(), type=Measured)
    progress(f"{run.title} is measured")
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as folder:
        rows = Path(folder) / "rows.json"
        command = [sys.executable, "-O", "-P", *_given(run, args), "--json", str(rows)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise OnwardError(f"{run.title}: it ended with code {done.returncode}; what it said is above")
        measured = Measured(_shown_command(run), msgspec.json.decode(rows.read_bytes(), type=list[Row]))
    if not args.quick:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(msgspec.json.encode(measured))
    return measured


def _given(run: Run, args: Args) -> Sequence[str]:
    if args.quick:
        alone = run._replace(is_paired=run.is_paired and args.against is not None, reads_data=args.data is not None)
        return *alone.command(str(args.data), str(args.against)), "--quick"
    return run.command(str(args.data), str(args.against))


def _shown_command(run: Run) -> str:
    return " ".join(("python -O", *run.command(DATA, OTHER)))


def _lines(run: Run, measured: Measured) -> Iterator[str]:
    """The table of a run as Markdown, under the command."""
    rows = [row for row in measured.rows if re.search(run.shown, row.name)]
    yield f"`{measured.command}`\n"
    if all(row.name.count(SEPARATOR) == 2 for row in rows):
        yield _pivoted(rows)
    else:
        yield _listed(rows)


def _listed(rows: Iterable[Row]) -> str:
    cells = [
        (row.name, f"{shown_value(row.value)} {row.unit}".strip(), _or_nothing(row.reference), _aim(row))
        for row in rows
    ]
    return table_of(("figure", "measured", "beside", "aim"), cells)


def _pivoted(rows: Iterable[Row]) -> str:
    """A line for each case, a column for each figure."""
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        _, line, figure = row.name.split(SEPARATOR)
        lines.setdefault(line, {})[figure] = shown_value(row.value)
    columns = list(dict.fromkeys(figure for cells in lines.values() for figure in cells))
    return table_of(("", *columns), [(line, *(cells.get(one, "") for one in columns)) for line, cells in lines.items()])


def _or_nothing(value: float | None) -> str:
    return "" if value is None else shown_value(value)


def _aim(row: Row) -> str:
    if row.aim is None:
        return ""
    sign = "at least" if row.better == "higher" else "at most"
    return f"{sign} {shown_value(row.aim)}: {'reached' if row.reached else 'missed'}"


if __name__ == "__main__":
    sys.exit(face.run(Args, performance))
