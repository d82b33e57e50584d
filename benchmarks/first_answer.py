"""How long the first rejected person waits: with nothing compiled, after ``onward train``, and in a process that has
rehearsed, as a worker has before it takes partitions.

Every answer is the first one of a new process that has loaded its program. Compiling is kept in a folder of this run.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import DATA_SETS, POPULATION, Source, sources
from onward.streams.errors import OnwardError, UsageError

AIM_SECONDS = 0.1
"""Of the processor, in a process that has rehearsed: what any other answer takes, and some room."""
_MANIFEST = "model: {manifest: model/manifest.json}\n"
_ANSWER = """
import json, sys, time
from pathlib import Path
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.replay.rehearsal import rehearse
from onward.streams.replay.suggestions import suggest

spec, people, rehearses = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), sys.argv[3] == "True"
program = assemble(load_program_spec(spec))
if rehearses:
    rehearse(program)
wall, started = time.perf_counter(), time.process_time()
answered = next(iter(suggest(program, people, 0)), None)
print(json.dumps([time.process_time() - started, time.perf_counter() - wall, answered and answered.application]))
"""
"""Prints the seconds of the processor and of the clock until the first answer, and whose it is."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    repeats: int = field(default=3, metadata={"quick": 1, "help": "processes of each kind, of which the median counts"})
    rows: int = field(default=15_000, metadata={"quick": 1000, "help": "most rows that the model is trained on"})
    data_set: str = field(default="credit", metadata={"quick": POPULATION, "help": "data set in the folder"})


def first_answer(args: Args) -> Iterator[Row]:
    """The seconds of each kind of process."""
    if args.data_set not in (POPULATION, *DATA_SETS):
        raise UsageError(f"--data-set {args.data_set}: there are {', '.join((POPULATION, *DATA_SETS))}")
    names = () if args.data_set == POPULATION else (args.data_set,)
    *_, source = sources(args.data, names, args.seeds[0])
    with tempfile.TemporaryDirectory(prefix="onward-first-") as name:
        folder = Path(name)
        _write(source, folder, args.rows)
        spec, people = str(folder / "spec.yaml"), folder / "people.json"
        command = ["-m", "onward", "train", str(folder / "data.csv"), "--spec", spec]
        _run([*command, "--output", str(folder / "model")], folder / "trained")
        progress("the model is trained")
        [_, _, first] = _answer(folder, folder / "trained")
        people.write_text(json.dumps({first: json.loads(people.read_text())[first]}))
        progress("somebody is rejected")
        nothing = [_answer(folder, folder / f"nothing-{turn}") for turn in range(args.repeats)]
        yield from _rows(f"nothing compiled, {source.name}", nothing)
        for name, rehearses in (("after train", False), ("after a rehearsal", True)):
            turns = [_answer(folder, folder / "trained", rehearses=rehearses) for _ in range(args.repeats)]
            yield from _rows(f"{name}, {source.name}", turns, nothing)


def _write(source: Source, folder: Path, most: int) -> None:
    """The spec, the data, and people by name."""
    spec, table = source.codec.spec, source.table
    lines = [line for line in source.spec.decode().splitlines(keepends=True) if not line.startswith("model:")]
    (folder / "spec.yaml").write_text("".join(lines) + _MANIFEST)
    rows = [
        row | {spec.label.name: spec.label.desired if label else "other"}
        for row, label in zip(table.rows, table.labels, strict=True)
    ]
    with (folder / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*table.rows[0], spec.label.name])
        writer.writeheader()
        writer.writerows(rows[:most])
    (folder / "people.json").write_text(json.dumps({str(n): row for n, row in enumerate(table.rows[:500])}))


def _answer(folder: Path, kept: Path, *, rehearses: bool = False) -> list[Any]:
    given = [str(folder / "spec.yaml"), str(folder / "people.json"), str(rehearses)]
    found = json.loads(_run(["-c", _ANSWER, *given], kept))
    if found[-1] is None:
        raise OnwardError("the model rejects nobody, so nobody waits")
    return list(found)


def _run(command: Sequence[str], kept: Path) -> str:
    """Standard output of Python, with what it compiles ``kept`` in a folder."""
    environment: Mapping[str, str] = os.environ | {"NUMBA_CACHE_DIR": str(kept), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-P", *command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise OnwardError(f"{' '.join(command[:3])}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def _rows(name: str, turns: Sequence[Sequence[Any]], nothing: Sequence[Sequence[Any]] | None = None) -> Iterator[Row]:
    aim = AIM_SECONDS if "rehearsal" in name else None
    for place, unit in enumerate(("s CPU", "s")):
        before = median(turn[place] for turn in nothing) if nothing else None
        yield Row(name, median(turn[place] for turn in turns), unit, before, aim if place == 0 else None, "lower")


if __name__ == "__main__":
    sys.exit(face.run(Args, first_answer))
