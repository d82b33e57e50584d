"""The search beside DiCE: the same people, spec and model."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import skops.io

from onward.agents.candidates import Space
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import Threshold
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import Case, Options, cheapest, mean, options_of
from onward.benchmarks.recourse.rules import broken_rules

PYTHON = Path(__file__).resolve().parents[2] / "build" / "dice" / "bin" / "python"
"""DiCE has an environment of its own."""
METHODS = ("random", "genetic", "kdtree")
AIM_TIMES_FASTER = 20.0


def installed() -> bool:
    """Whether DiCE can be asked; say so when it cannot."""
    if not PYTHON.exists():
        progress("DiCE is left out: it is not installed (`make bench-options` does it where it can)")
    return PYTHON.exists()


def beside_dice(title: str, space: Space, case: Case, people: int, patience_seconds: float) -> Iterator[Row]:
    """The rows of every method of DiCE, with the search's as their references, of the first ``people``."""
    case = case._replace(people=case.people[:people])
    ours = _ours(space, case)
    for method in METHODS:
        answer = _asked(method, case, patience_seconds)
        if answer is not None:
            yield from _rows(f"{title}, DiCE {method}", case, space, answer, ours)


def _ours(space: Space, case: Case) -> tuple[Options, float]:
    """The search's cheapest options, and the share of all its options that break a rule."""
    made = Search(space, L1(), case.score, Threshold(0.5)).propose(case.people)
    broken = _broken(case, space, made.people, made.points)
    return options_of(Search, space, case), broken.total() / max(1, len(made.people))


def _rows(
    title: str, case: Case, space: Space, answer: dict[str, np.ndarray], ours: tuple[Options, float]
) -> Iterator[Row]:
    """What DiCE returned and the model accepts, as the search's options are accepted."""
    whose, targets, seconds = answer["whose"], answer["targets"], float(answer["seconds"])
    accepted = case.score(targets) > 0.5 if len(targets) else np.zeros(0, dtype=bool)
    whose, targets = whose[accepted], targets[accepted]
    theirs, (search, search_broken) = cheapest(case.source.codec, case.people, whose, targets), ours
    broken, count = _broken(case, space, whose, targets), len(case.people)
    none, search_none = (1 - len(found.people) / count for found in (theirs, search))
    progress(f"{title}: {len(targets)} options of {count} people, broken rules {dict(broken)}, {seconds:.1f} s")
    yield Row(f"{title}: none", none, "share", search_none, better="lower")
    yield Row(
        f"{title}: broken rules an option", broken.total() / max(1, len(targets)), "", search_broken, better="lower"
    )
    yield Row(f"{title}: changes", mean(theirs.changes), "", mean(search.changes), better="lower")
    both, here, there = np.intersect1d(search.people, theirs.people, return_indices=True)
    if len(both):
        costs = mean(theirs.cost[there]), mean(search.cost[here])
        yield Row(f"{title}: cost, of those with both", costs[0], "", costs[1], better="lower")
    yield Row(f"{title}: CPU of a person", seconds / count, "s", search.seconds / count, better="lower")
    yield Row(f"{title}: CPU, times the search's", seconds / search.seconds, "x", aim=AIM_TIMES_FASTER)


def _broken(case: Case, space: Space, whose: np.ndarray, targets: np.ndarray) -> Counter[str]:
    most, codec = space.max_changes or len(space.mutable), case.source.codec
    pairs = zip(whose.tolist(), targets, strict=True)
    return sum((broken_rules(codec, case.people[i], target, most) for i, target in pairs), Counter())


def _asked(method: str, case: Case, patience_seconds: float) -> dict[str, np.ndarray] | None:
    """DiCE's answer, from its own process; None, with a line that says why, when it fails."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as name:
        folder, table = Path(name), case.source.table
        skops.io.dump(case.estimator, folder / "model.skops")
        np.savez(folder / "rows.npz", people=case.people, X=table.X[case.fitted], labels=table.labels[case.fitted])
        asked = {"spec": str(case.source.spec), "method": method, "patience_seconds": patience_seconds}
        (folder / "asked.json").write_text(json.dumps(asked))
        command = [str(PYTHON), "-m", "onward.benchmarks.arena.dice", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
        if done.returncode:
            progress(f"DiCE {method} is left out: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
            return None
        with np.load(folder / "answer.npz") as stored:
            return dict(stored)


def _environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
