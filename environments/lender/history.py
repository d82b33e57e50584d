"""The file of a lender: what people were like when they applied, and whether they repaid, as far as anybody knows."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from .equations import Equations, Floats, People
from .settings import Setting

LABEL = "repaid"
OFFICER_NOISE = 1.0
"""The standard deviation of what a case officer adds to the true log odds."""


def history(setting: Setting, equations: Equations, random: np.random.Generator) -> tuple[People, Floats]:
    """The people of the file and their labels (N,), as many as the setting's rows; NaN where nobody knows the label."""
    if not setting.approved_only:
        people = equations.draw(setting.rows, random)
        return people, _labels(equations, people, random)
    people = equations.draw(3 * setting.rows, random)
    true = equations.help(people.things, people.hidden)
    approved = np.log(true / (1.0 - true)) + OFFICER_NOISE * random.normal(size=len(true)) > 0.0
    labels = np.where(approved, _labels(equations, people, random), np.nan)
    end = int(np.flatnonzero(approved)[setting.rows - 1]) + 1
    return people.only(slice(end)), labels[:end]


def _labels(equations: Equations, people: People, random: np.random.Generator) -> Floats:
    true = equations.help(people.things, people.hidden)
    return (random.random(len(true)) < true).astype(np.float64)


def write_history(file: Path, equations: Equations, people: People, labels: Floats) -> None:
    """Write people and their labels (N,) as a CSV; a label that nobody knows is empty."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(column.name for column in equations.columns), LABEL])
        for row, label in zip(people.columns.astype(np.int64).tolist(), labels.tolist(), strict=True):
            writer.writerow([*row, "" if np.isnan(label) else int(label)])
