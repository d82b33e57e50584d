"""The processor time of a rejected person in a program of which other features follow, beside the same without effects.

The file, the model and the people are the same: four features have five others each that follow them. The spec tells
the slopes and deviations of the data. In one program people may also change the children alone, in another these only
follow, as drafts write it. The programs take turns in processes of their own.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import onward
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cpu import TRAIN, printed, spent_by, with_policy
from onward.benchmarks.recourse.figures import row
from onward.schemas.spec import Mutable

PARENTS, CHILDREN = 4, 5
ROWS = 1500
SLOPE, DEVIATION, NOISE = 0.5, 0.1, 15.0
"""How a child follows, how that differs between people, and the deviation of what its parent does not explain."""
KIND = "random_forest"
TURNS = 3
AIM = 1.3
"""The processor time of a person beside that of the same program without effects, at most."""
TITLE = "CPU of a rejected person of whom other features follow, a forest"
PLAIN, FOLLOWED = "without effects", f"{PARENTS * CHILDREN} effects"
ONLY = f"{FOLLOWED}, only following"


def cpu_of_effects(people: int) -> Iterator[Row]:
    """The microseconds of a person, without effects and with them, and their ratios beside the aim."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", onward.OnwardWarning)
        own = Path(folder)
        table, plain = own / "data.csv", own / "spec.yaml"
        _write(table)
        plain.write_text(with_policy(spec_text()))
        specs = {PLAIN: (sys.executable, plain)}
        ways: Sequence[tuple[str, Mutable]] = ((FOLLOWED, "any"), (ONLY, "follows"))
        for name, child in ways:
            specs[name] = sys.executable, own / f"{child}.yaml"
            specs[name][1].write_text(with_policy(spec_text(edges(), child)))
        printed([sys.executable, "-P", "-c", TRAIN, str(table), str(plain), str(own / "model"), KIND])
        progress(f"{FOLLOWED}: {people} people are searched for, {3 * TURNS} times")
        found = spent_by(specs, table, people, TURNS)
    figures = {name: {"alone, mean": float(np.mean(own.alone)), "in blocks": own.block} for name, own in found.items()}
    for name, values in figures.items():
        for figure, value in values.items():
            yield row(TITLE, name, figure, value, "us")
    for name in (FOLLOWED, ONLY):
        for figure, value in figures[name].items():
            yield row(TITLE, f"ratio, {name}", figure, value / figures[PLAIN][figure], aim=AIM)


def _names() -> list[tuple[str, list[str]]]:
    """Each parent with its children."""
    return [(f"p{i}", [f"c{i}{j}" for j in range(CHILDREN)]) for i in range(PARENTS)]


def _write(file: Path) -> None:
    """Write drawn data: the parents, and some of the children, decide."""
    random = np.random.default_rng(0)
    columns: dict[str, np.ndarray] = {}
    odds = np.zeros(ROWS)
    for parent, children in _names():
        values = random.integers(0, 101, ROWS)
        columns[parent] = values
        odds += values / 100.0 - 0.5
        for place, child in enumerate(children):
            follows = 50.0 + SLOPE * (values - 50) + random.normal(0.0, NOISE, ROWS)
            columns[child] = np.clip(np.rint(follows), 0, 100).astype(np.int64)
            odds += (place < 2) * (columns[child] / 100.0 - 0.5)
    columns["good"] = (random.random(ROWS) < 1.0 / (1.0 + np.exp(-2.0 * odds))).astype(np.int64)
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def edges() -> Sequence[tuple[str, str]]:
    """The parent and the child of each effect."""
    return [(parent, child) for parent, children in _names() for child in children]


def spec_text(told: Sequence[tuple[str, str]] = (), child: Mutable = "any") -> str:
    """The spec of the drawn data, which tells these effects, and how a ``child`` may change."""
    mutable: dict[str, Mutable] = {}
    for parent, children in _names():
        mutable[parent] = "any"
        mutable.update(dict.fromkeys(children, child))
    lines = [f"  - {{name: {name}, type: integer, bounds: [0, 100], mutable: {way}}}" for name, way in mutable.items()]
    rest = ["label: {name: good}", "model: {manifest: model/manifest.json}"]
    known = f"slope: {SLOPE}, deviation: {DEVIATION}"
    effects = [f"  - {{from: {parent}, to: {child}, {known}}}" for parent, child in told]
    return "\n".join(["program: drawn", "features:", *lines, *rest, *(["effects:", *effects] if effects else [])])
