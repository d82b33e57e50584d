"""What trees cost where options are searched for: the processor time of a row, and of a person.

A search for options like those of a drafted program is run once, and the rows that it asks about are kept. A forest, a
booster and the label prior then score them call by call, in processes of their own; with ``--against`` those of another
checkout take turns. Beside them stand rows of different people, which have little in common.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from onward.agents.candidates import Vetting, registry
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.improvement import LabelPrior
from onward.agents.objective import Objective
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import DATA_SETS, POPULATION, Source, sources
from onward.streams.errors import UsageError
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.space import space_of

Floats = NDArray[np.float64]
Calls = list[Floats]

OPTIONS = 3
AIMS: Mapping[str, float] = {"variants": 0.7, "others": 1.0}
"""The processor time of a row, over that of the other checkout."""
ENSEMBLES: Mapping[str, Callable[[int], Any]] = {
    "forest of 100": lambda seed: RandomForestClassifier(100, random_state=seed),
    "booster of 100": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}
_TIME = """
import pickle, sys, time
from onward.agents.improvement import LabelPrior
from onward.streams.programs.models.scoring import scorer

with open(sys.argv[1], "rb") as file:
    model, calls = pickle.load(file)
columns = calls[0].shape[1]
if isinstance(model, dict):
    log_odds = LabelPrior.restore(model, columns).log_odds
    score = lambda X: log_odds(X, X)
else:
    score = scorer(model, columns).score
for X in calls[:5]:
    score(X)
started = time.process_time()
for X in calls:
    score(X)
print(time.process_time() - started)
"""
"""Prints the processor seconds of all calls; every checkout runs it."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=100, metadata={"quick": 5, "help": "rejected people whose options are searched for"})
    rows: int = field(default=15_000, metadata={"quick": 1000, "help": "most rows that ensembles are fitted to"})
    repeats: int = field(default=5, metadata={"quick": 1, "help": "turns of a checkout, of which the median counts"})
    data_set: str = field(default="credit", metadata={"quick": POPULATION, "help": "data set in the folder"})
    against: Path | None = field(
        default=None,
        metadata={"help": "Python of another checkout: its trees take turns", "metavar": "CHECKOUT/.venv/bin/python"},
    )


class _Recorded(LabelPrior):
    """A prior that keeps the rows that it is asked about."""

    def __init__(self, prior: LabelPrior) -> None:
        super().__init__(prior._ensemble)
        self.calls: Calls = []

    def log_odds(self, after: Floats, before: Floats) -> Floats:
        self.calls.append(after.copy())
        return super().log_odds(after, before)


def trees(args: Args) -> Iterator[Row]:
    """The figures of each ensemble."""
    if args.data_set not in (POPULATION, *DATA_SETS):
        raise UsageError(f"--data-set {args.data_set}: there are {', '.join((POPULATION, *DATA_SETS))}")
    names = () if args.data_set == POPULATION else (args.data_set,)
    *_, source = sources(args.data, names, args.seeds[0])
    drawn = np.random.default_rng(args.seeds[0]).permutation(len(source.table.X))
    own, rest = np.split(drawn, [min(args.rows, len(drawn) // 2)])
    prior = LabelPrior.fit(source.table.X[own], source.table.labels[own], args.seeds[0])
    assert prior is not None, "the data have both labels"
    for name, build in ENSEMBLES.items():
        estimator = build(args.seeds[0]).fit(source.table.X[own], source.table.labels[own])
        calls, asked, people = _search(source, estimator, prior, source.table.X[rest], args.people)
        progress(f"{name}: {len(calls):,} calls for {people} people")
        yield from _rows(f"{name}, {source.name}", estimator, calls, source.table.X[rest], people, args)
    yield from _rows(f"label prior, {source.name}", prior.arrays(), asked, source.table.X[rest], people, args)


def _search(source: Source, estimator: Any, prior: LabelPrior, X: Floats, most: int) -> tuple[Calls, Calls, int]:
    """The rows that the estimator and the prior are asked about, call by call, for at most so many rejected people."""
    calls: Calls = []
    model, space, asked = scorer(estimator, X.shape[1]), space_of(source.codec), _Recorded(prior)
    people = X[model.score(X) <= 0.5][:most]

    def score(rows: Floats) -> Floats:
        calls.append(rows.copy())
        return model.score(rows)

    objective, goal = Objective(L1(), 4 / X.shape[1], asked), ThresholdGoal(0.5)
    generator = registry["search"].build(space, X[:0], objective).under(score, goal)
    vetting = Vetting(generator, space, objective, score, goal, "limit", OPTIONS)
    for person in people:
        vetting.propose(person[np.newaxis])
    return calls, asked.calls, len(people)


def _rows(name: str, model: Any, calls: Calls, others: Floats, people: int, args: Args) -> Iterator[Row]:
    rows = sum(map(len, calls))
    for kind, asked in (("variants", calls), ("others", [others])):
        own, other = _seconds(model, asked, args)
        count = sum(map(len, asked))
        line = f"{name}, {kind}"
        yield Row(f"{line}, a row", own / count * 1e6, "us", other and other / count * 1e6, better="lower")
        if kind == "variants":
            yield Row(f"{line}, a person", own / people * 1e6, "us", other and other / people * 1e6, better="lower")
        if other:
            yield Row(f"{line}, ratio", own / other, "x", reference=1.0, aim=AIMS[kind], better="lower")
    progress(f"{name}: {rows / people:,.0f} rows a person")


def _seconds(model: Any, calls: Sequence[Floats], args: Args) -> tuple[float, float | None]:
    """The processor seconds of all calls, here and in the other checkout."""
    pythons = [sys.executable, *([str(args.against.absolute())] if args.against else [])]
    with tempfile.TemporaryDirectory(prefix="onward-trees-") as folder:
        file = Path(folder) / "calls.pickle"
        file.write_bytes(pickle.dumps((model, calls)))
        turns = [[_timed(python, file) for python in pythons] for _ in range(args.repeats)]
    own, *other = map(median, zip(*turns, strict=True))
    return own, other[0] if other else None


def _timed(python: str, file: Path) -> float:
    command = [python, "-P", "-c", _TIME, str(file)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "stderr", None) or str(error)
        raise UsageError(f"{python} cannot score these rows: {why.strip().splitlines()[-1]}") from None
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(face.run(Args, trees))
