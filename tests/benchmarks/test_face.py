from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from rich.table import Table

from onward.benchmarks import face
from onward.benchmarks.face import Row
from onward.streams.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    people: int = field(default=500, metadata={"quick": 5, "help": "people served"})
    rates: tuple[int, ...] = field(default=(1, 2), metadata={"help": "rates"})
    shares: tuple[float, ...] = field(default=(0.0, 0.5), metadata={"help": "shares"})
    names: tuple[str, ...] = field(default=(), metadata={"help": "names"})
    kind: Literal["this", "that"] = field(default="this", metadata={"help": "which"})


def measure(args: Args) -> Iterator[Row]:
    yield Row("people", args.people, "1", reference=4.0, aim=600.0)
    yield Row("delay", 0.5, "s", aim=1.0, better="lower", by_seed={3: 0.25, 4: 0.75})


def refuse(args: Args) -> Iterator[Row]:
    raise UsageError("there is nothing to measure")


def test_a_command_line_becomes_arguments():
    line = ["--seeds", "3-5", "--data", "folder", "--rates", "7,8", "--kind", "that", "--people", "9"]
    line += ["--shares", "0,0.25", "--names", "a,b"]
    args = face.parse(Args, None, line)
    assert args == Args(
        seeds=range(3, 6),
        data=Path("folder"),
        rates=(7, 8),
        kind="that",
        people=9,
        shares=(0.0, 0.25),
        names=("a", "b"),
    )
    assert face.parse(Args, None, []) == Args()


def test_quick_is_small_where_nothing_else_is_said():
    assert face.parse(Args, None, ["--quick"]).people == 5
    assert face.parse(Args, None, ["--quick", "--people", "7"]).people == 7


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (["--seeds", "5-3"], "'5-3' ends before it begins"),
        (["--seeds", "-1"], "--seeds"),
        (["--seeds", "all"], "'all' is no range of seeds: write A-B"),
        (["--rates", "5,0"], "whole numbers above 0"),
        (["--shares", "0,none"], "write numbers, 0 or more"),
        (["--shares", "inf"], "write numbers, 0 or more"),
        (["--names", "a,,b"], "write names separated by commas"),
        (["--kind", "other"], "invalid choice"),
        (["--people", "many"], "invalid int value: 'many'"),
        (["--persons", "5"], "unrecognized arguments: --persons 5"),
    ],
)
def test_a_command_line_that_does_not_fit_is_explained_in_one_line(line, reason, capsys):
    assert face.run(Args, measure, line) == UsageError.exit_code
    told = capsys.readouterr().err
    assert reason in told
    assert told.startswith("error: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("place", ["", "taken/rows.json"])
def test_rows_that_cannot_be_written_are_refused_before_anything_is_measured(place, tmp_path, capsys):
    (tmp_path / "taken").write_text("a file")
    path = tmp_path / place
    assert face.run(Args, refuse, ["--json", str(path)]) == UsageError.exit_code
    told = capsys.readouterr().err
    assert told.startswith(f"error: --json {path}: cannot be written: ")
    assert told.count("\n") == 1


def test_rows_are_printed_and_written(tmp_path, capsys):
    file = tmp_path / "new" / "rows.json"
    assert face.run(Args, measure, ["--json", str(file)]) == 0
    people = {"name": "people", "value": 500, "unit": "1", "reference": 4.0, "aim": 600.0, "better": "higher"}
    delay = {"name": "delay", "value": 0.5, "unit": "s", "reference": None, "aim": 1.0, "better": "lower"}
    assert json.loads(file.read_text()) == [
        {**people, "by_seed": None},
        {**delay, "by_seed": {"3": 0.25, "4": 0.75}},
    ]
    people, delay = capsys.readouterr().out.splitlines()[-2:]
    assert people.split() == ["people", "500", "1", "4", ">=", "600", "not", "yet"]
    assert delay.split() == ["delay", "0.5", "s", "<=", "1", "reached"]


def test_a_row_is_printed_before_the_next_one_is_measured(capsys):
    printed = []

    def slowly(args: Args) -> Iterator[Row]:
        yield from measure(args)
        printed.append(capsys.readouterr().out)

    assert face.run(Args, slowly, []) == 0
    assert [line.split()[0] for line in printed[0].splitlines()] == ["figure", "people", "delay"]


def test_a_benchmark_can_show_tables_of_its_own(capsys):
    def show(rows):
        yield Table(*(row.name for row in rows))

    assert face.run(Args, measure, [], show=show) == 0
    printed = capsys.readouterr().out
    assert "people" in printed
    assert "not yet" not in printed


def test_a_failure_is_one_line_and_a_code(capsys):
    assert face.run(Args, refuse, []) == UsageError.exit_code
    assert capsys.readouterr().err == "error: there is nothing to measure\n"
