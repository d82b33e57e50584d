"""The program of a setting, as a new user makes it: a file, `spec draft`, and `train`."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onward.agents.goals import accepted
from onward.benchmarks.real.equations import Equations, People
from onward.benchmarks.real.settings import Setting
from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import Answers, Decisions
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.streams.programs.assembly import address_of, assemble
from onward.streams.programs.program import Program
from onward.streams.programs.training.train import train

LABEL = "repaid"
CHANGES, OPTIONS = 2, 3
TRAINING, NEWCOMERS = range(2)
"""What people are drawn for."""
BATCH = 2000
MOST_BATCHES = 100
_RELATIONS = re.compile(r"(?m)^constraints:\n(?:  .*\n)+")
"""The lines of a draft that hold what is true of all rows. No column of these worlds limits another."""
_EFFECTS = re.compile(r"(?m)^(?:effects|computed):.*\n(?:  .*\n)*")
"""Those that say what follows from changes."""
OFFICER_NOISE = 1.0
"""The standard deviation of what a case officer adds to the true log odds."""


class RealProgram:
    """A program in a new folder, and the rejected people of the world that it is made for.

    ``spec`` is the file of the spec as it is drafted, of which four lines are changed: what may change is answered as
    the world has it, an option changes at most two features, whoever acts is seen to come back, and there is one shard,
    since it serves a few hundred people.
    """

    def __init__(self, setting: Setting, seed: int, folder: Path, estimator_seed: int = 0) -> None:
        self.equations, self._seed = setting.equations(), seed
        folder.mkdir(parents=True)
        file, self.spec = folder / "loans.csv", folder / "loans.yaml"
        people, labels = history(setting, self.equations, np.random.default_rng([seed, TRAINING]))
        _write(file, self.equations, people, labels)
        mutable = {column.name: self.equations.things[column.thing].mutable for column in self.equations.columns}
        drafted = draft_spec(file, LABEL, Decisions(Answers(label={LABEL: 1}, mutable=mutable))).text
        self.spec.write_text(as_played(drafted, setting))
        loaded = load_spec(self.spec)
        train(file, loaded, Path(address_of(loaded)).parent, estimator="random_forest", seed=estimator_seed)

    @cached_property
    def program(self) -> Program:
        """The program."""
        return assemble(load_spec(self.spec))

    @cached_property
    def codec(self) -> FeatureCodec:
        """The codec of its features."""
        return self.program.codec

    def accepts(self, columns: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the model accepts each of some rows (P, K)."""
        scores = self.program.bundle.model.score(self.codec.encode_many(self.rows(columns)))
        return np.asarray(accepted(scores, self.program.spec.model.threshold))

    def rows(self, columns: NDArray[np.float64]) -> list[Mapping[str, int]]:
        """The features of people with these columns (P, K), no further than the spec's bounds."""
        names = [column.name for column in self.equations.columns]
        clipped = np.clip(columns, *self.bounds).astype(np.int64)
        return [dict(zip(names, row, strict=True)) for row in clipped.tolist()]

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest value of each column, (K,) each."""
        by_name = {feature.name: feature.bounds for feature in self.program.spec.features}
        found = [by_name[column.name] for column in self.equations.columns]
        low, high = np.array(found, dtype=np.float64).T
        return low, high

    def rejected(self, number: int) -> People:
        """Draw people until so many are rejected by the model; raise ``ValueError`` where hardly anybody is."""
        random, found, count = np.random.default_rng([self._seed, NEWCOMERS]), list[People](), 0
        low, high = self.bounds
        for _ in range(MOST_BATCHES):
            people = self.equations.draw(BATCH, random)
            within = np.asarray(((people.columns >= low) & (people.columns <= high)).all(axis=1))
            people = people.only(within)
            found.append(people.only(~self.accepts(people.columns)))
            count += len(found[-1].hidden)
            if count >= number:
                return People(*map(np.concatenate, zip(*found, strict=True))).only(slice(number))
        raise ValueError(f"of {MOST_BATCHES * BATCH} people the model rejects {count} only")


def history(setting: Setting, equations: Equations, random: np.random.Generator) -> tuple[People, NDArray[np.float64]]:
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


def _labels(equations: Equations, people: People, random: np.random.Generator) -> NDArray[np.float64]:
    true = equations.help(people.things, people.hidden)
    return (random.random(len(true)) < true).astype(np.float64)


def _write(file: Path, equations: Equations, people: People, labels: NDArray[np.float64]) -> None:
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(column.name for column in equations.columns), LABEL])
        for row, label in zip(people.columns.astype(np.int64).tolist(), labels.tolist(), strict=True):
            writer.writerow([*row, "" if np.isnan(label) else int(label)])


def as_played(drafted: str, setting: Setting) -> str:
    """The text of a drafted spec with one shard and at most two changes of an option, and without chance relations.

    What follows from changes is told by the edges of the ``setting`` alone: what the draft proposes is left out.

    Whoever acts in these worlds comes back, and the spec says so.
    """
    one = _RELATIONS.sub("", drafted.replace("shards: 24\n", "shards: 1\n"))
    one = one.replace("outcome: P400D}", "outcome: P400D, acting: returns}")
    one = _EFFECTS.sub("", one)
    for child in setting.followers:
        one = re.sub(rf"(?m)^(  - {{name: {child},.*mutable: )\w+", r"\1follows", one)
    told = "".join(f"  - [{parent}, {child}]\n" for parent, child in setting.edges)
    effects = f"effects:\n{told}" if told else ""
    return f"{one}constraints: {{max_changes: {CHANGES}}}\n{effects}"
