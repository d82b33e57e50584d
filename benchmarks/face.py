"""The one face of every benchmark: a typed command line in, a table and rows of JSON out.

    @dataclass(frozen=True)
    class Args(face.Args):
        repeats: int = field(default=5, metadata={"quick": 1, "help": "runs of each contender"})

    def measure(args: Args) -> Iterator[Row]:
        yield Row("throughput", 12_000.0, "1/s", reference=5_000.0, aim=5_000.0)

    if __name__ == "__main__":
        sys.exit(face.run(Args, measure))

The dataclass is the command line: ``repeats`` is ``--repeats``, 5 unless given, 1 with ``--quick``. Lines of
``progress`` go to standard error, the table to standard output.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onward.streams.cli.flags.output_paths import check_file
from onward.streams.cli.flags.parsing import CommandParser
from onward.streams.errors import OnwardError

_PAGE_WIDTH = 100
_HEADINGS = ("figure", "value", "unit", "reference", "aim")
_COLUMNS = (">9", "<11", ">9", ">10")
"""The sides and widths of all but the first."""
_COLUMNS_WIDTH = 56
"""What they take, with the spaces between them and the verdict."""
_STARTED = time.monotonic()


class Row(msgspec.Struct, frozen=True):
    """One figure. ``reference`` is what it is held against (published, or measured in the same run), ``aim`` what it
    must reach, ``by_seed`` what it was with each seed where it is the mean over several."""

    name: str
    value: float
    unit: str
    reference: float | None = None
    aim: float | None = None
    better: Literal["higher", "lower"] = "higher"
    by_seed: Mapping[int, float] | None = None

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


def numbers(text: str) -> tuple[int, ...]:
    """``200,500`` is two numbers; raise ``ArgumentTypeError`` for anything but whole numbers above 0."""
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: write whole numbers above 0, separated by commas, as in 200,500")
    return tuple(map(int, parts))


def reals(text: str) -> tuple[float, ...]:
    """``0,0.25`` is two numbers; raise ``ArgumentTypeError`` for anything but numbers from 0 on."""
    try:
        values = tuple(map(float, text.split(",")))
    except ValueError:
        values = (-1.0,)
    if not all(0 <= value < math.inf for value in values):
        raise argparse.ArgumentTypeError(f"{text!r}: write numbers, 0 or more, separated by commas, as in 0,0.25")
    return values


def names(text: str) -> tuple[str, ...]:
    """``a,b`` is two names; raise ``ArgumentTypeError`` when one is empty."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r}: write names separated by commas")
    return parts


_READERS: Mapping[Any, Callable[[str], Any]] = {
    range: seeds,
    tuple[int, ...]: numbers,
    tuple[float, ...]: reals,
    tuple[str, ...]: names,
    Path | None: Path,
}


@dataclass(frozen=True, kw_only=True)
class Args:
    """What every benchmark takes."""

    quick: bool = field(default=False, metadata={"help": "small sizes: shows that it works, not how fast"})
    seeds: range = field(default=range(1), metadata={"help": "seeds A-B, both included", "metavar": "A-B"})
    data: Path | None = field(
        default=None, metadata={"help": "folder of data sets; else generated data", "metavar": "DIR"}
    )
    json: Path | None = field(default=None, metadata={"help": "write the rows to this file", "metavar": "FILE"})


A = TypeVar("A", bound=Args)


def parse(
    kind: type[A], description: str | None, argv: Sequence[str] | None = None, *, command: str | None = None
) -> A:
    """The command line as ``kind``, of what is run as ``command``.

    Raise ``UsageError`` for one that does not fit, and where the rows cannot be written: not only after a long run.
    """
    parser = CommandParser(prog=command, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    hints = get_type_hints(kind)
    for argument in fields(kind):
        _add(parser, argument, hints[argument.name])
    given = vars(parser.parse_args(argv))
    quick = {argument.name: argument.metadata["quick"] for argument in fields(kind) if "quick" in argument.metadata}
    args = kind(**((quick if "quick" in given else {}) | given))
    if args.json is not None:
        check_file("--json", args.json)
    return args


def _add(parser: argparse.ArgumentParser, argument: Field[Any], hint: Any) -> None:
    flag = f"--{argument.name.replace('_', '-')}"
    more: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argument.metadata["help"]}
    if hint is bool:
        parser.add_argument(flag, action="store_true", **more)
        return
    if get_origin(hint) is Literal:
        more["choices"] = get_args(hint)
    else:
        more |= {"type": _READERS.get(hint, hint), "metavar": argument.metadata.get("metavar", argument.name.upper())}
    if argument.default not in (None, ()):
        more["help"] += f" (default: {_shown(argument.default)})"
    parser.add_argument(flag, **more)


def _shown(value: Any) -> str:
    if isinstance(value, range):
        return f"{value.start}-{value.stop - 1}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def progress(text: str) -> None:
    """One line about how far the benchmark is."""
    print(f"[{time.monotonic() - _STARTED:6.1f} s] {text}", file=sys.stderr, flush=True)


def run(
    kind: type[A],
    measure: Callable[[A], Iterable[Row]],
    argv: Sequence[str] | None = None,
    show: Callable[[Sequence[Row]], Iterable[Table]] | None = None,
    width: int = _PAGE_WIDTH,
) -> int:
    """Parse, measure, print the rows, write them; a failure is one line, and its exit code.

    Each row is printed as soon as it is measured. ``show`` gives tables of all rows in their place, ``width`` the
    characters that either may take where standard output is no terminal.
    """
    module = sys.modules[measure.__module__]
    command = f"python -m {module.__spec__.name}" if module.__spec__ else None
    try:
        args = parse(kind, module.__doc__, argv, command=command)
        console = Console(width=None if sys.stdout.isatty() else width)
        measured = measure(args)
        rows = list(_printed(measured, console) if show is None else measured)
    except OnwardError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        return error.exit_code
    for table in () if show is None else show(rows):
        console.print(table)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    return 0


def _printed(rows: Iterable[Row], console: Console) -> Iterator[Row]:
    """The rows, each printed before the next one is asked for."""
    names = max(len(_HEADINGS[0]), console.width - _COLUMNS_WIDTH)
    verdicts = {True: ("reached", "green"), False: ("not yet", "red"), None: ("", "")}
    for place, row in enumerate(rows):
        if place == 0:
            console.print(Text(_line(names, _HEADINGS).rstrip(), "bold"), soft_wrap=True)
        sign = ">=" if row.better == "higher" else "<="
        aim = "" if row.aim is None else f"{sign} {_number(row.aim)}"
        reference = "" if row.reference is None else _number(row.reference)
        line = Text(_line(names, (row.name, _number(row.value), row.unit, reference, aim)))
        line.append(*verdicts[row.reached]).rstrip()
        console.print(line, soft_wrap=True)
        yield row


def _line(names: int, cells: Sequence[str]) -> str:
    """A line whose first cell takes ``names`` characters, up to where the verdict stands."""
    return "".join(f"{cell:{column}}  " for cell, column in zip(cells, (f"<{names}", *_COLUMNS), strict=True))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
