"""The one face of every benchmark: a typed command line in, a table and rows of JSON out.

    @dataclass(frozen=True)
    class Args(face.Args):
        repeats: int = field(default=5, metadata={"help": "runs of each contender"})

    def measure(args: Args) -> Iterator[Row]:
        yield Row("throughput", 12_000.0, "1/s", reference=5_000.0, aim=5_000.0)

    if __name__ == "__main__":
        sys.exit(face.run(Args, measure))

The dataclass is the command line: ``repeats`` is ``--repeats``. A line of ``progress`` goes to standard error, the table to
standard output.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec
from rich.console import Console
from rich.table import Table

from onward.streams.errors import OnwardError

_STARTED = time.monotonic()


class Row(msgspec.Struct, frozen=True):
    """One figure. ``reference`` is what it is held against (published, or measured in the same run), ``aim`` what it
    must reach."""

    name: str
    value: float
    unit: str
    reference: float | None = None
    aim: float | None = None
    better: Literal["higher", "lower"] = "higher"

    @property
    def reached(self) -> bool | None:
        """Whether the aim is; None without one."""
        if self.aim is None:
            return None
        return self.value >= self.aim if self.better == "higher" else self.value <= self.aim


def seeds(text: str) -> range:
    """``3-7`` is five seeds, ``3`` is one; raise ``ArgumentTypeError`` for anything else."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of seeds: write A-B, as in 0-4, or one number")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins: write the smaller seed first")
    return range(first, last + 1)


@dataclass(frozen=True, kw_only=True)
class Args:
    """What every benchmark takes."""

    quick: bool = field(default=False, metadata={"help": "small sizes: shows that it works, not how fast"})
    seeds: range = field(default=range(1), metadata={"help": "seeds A-B, both included", "metavar": "A-B"})
    data: Path | None = field(default=None, metadata={"help": "folder of data sets; generated data when absent"})
    json: Path | None = field(default=None, metadata={"help": "write the rows to this file", "metavar": "FILE"})


A = TypeVar("A", bound=Args)


def parse(kind: type[A], description: str | None, argv: Sequence[str] | None = None) -> A:
    """The command line as ``kind``; argparse ends the process with code 2 for one that does not fit."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    hints = get_type_hints(kind)
    for argument in fields(kind):
        _add(parser, argument, hints[argument.name])
    return kind(**vars(parser.parse_args(argv)))


def _add(parser: argparse.ArgumentParser, argument: Field[Any], hint: Any) -> None:
    flag = f"--{argument.name.replace('_', '-')}"
    text = argument.metadata.get("help", "")
    if hint is bool:
        parser.add_argument(flag, action="store_true", default=argument.default, help=text)
        return
    convert = seeds if hint is range else Path if hint == Path | None else hint
    shown = argument.default if not isinstance(argument.default, range) else _span(argument.default)
    metavar = argument.metadata.get("metavar", argument.name.upper())
    more = "" if shown is None else f" (default: {shown})"
    parser.add_argument(flag, type=convert, default=argument.default, metavar=metavar, help=text + more)


def _span(given: range) -> str:
    return f"{given.start}-{given.stop - 1}"


def progress(text: str) -> None:
    """One line about how far the benchmark is."""
    print(f"[{time.monotonic() - _STARTED:6.1f} s] {text}", file=sys.stderr, flush=True)


def run(kind: type[A], measure: Callable[[A], Iterable[Row]], argv: Sequence[str] | None = None) -> int:
    """Parse, measure, print the table, write the rows; a failure is one line, and its exit code."""
    args = parse(kind, sys.modules[measure.__module__].__doc__, argv)
    try:
        rows = list(measure(args))
    except OnwardError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    Console().print(table(rows))
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    return 0


def table(rows: Iterable[Row]) -> Table:
    """The rows for a terminal."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("figure", overflow="fold")
    for column in ("value", "unit", "reference", "aim"):
        shown.add_column(column, justify="left" if column == "unit" else "right")
    shown.add_column("")
    verdicts = {True: "[green]reached", False: "[red]not yet", None: ""}
    for row in rows:
        sign = ">=" if row.better == "higher" else "<="
        aim = "" if row.aim is None else f"{sign} {_number(row.aim)}"
        reference = "" if row.reference is None else _number(row.reference)
        shown.add_row(row.name, _number(row.value), row.unit, reference, aim, verdicts[row.reached])
    return shown


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
