"""The generators beside DiCE: the same people, spec and model."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import skops.io

from onward.agents.candidates import Space, registry
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import Threshold
from onward.agents.objective import Objective
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import Case, Options, cheapest, mean, options_of
from onward.benchmarks.recourse.figures import SEPARATOR, figures, row
from onward.benchmarks.recourse.rules import broken_rules

PYTHON = Path(__file__).resolve().parents[2] / "build" / "dice" / "bin" / "python"
"""DiCE has an environment of its own."""
GENERATORS = ("search", "adapted")
METHODS = ("random", "genetic", "kdtree")
AIM_TIMES_FASTER = 20.0


def installed() -> bool:
    """Whether DiCE can be asked; say so when it cannot."""
    if not PYTHON.exists():
        progress("DiCE is left out: it is not installed (`make install-dice` does it)")
    return PYTHON.exists()


def beside_dice(title: str, space: Space, case: Case, people: int, patience_seconds: float) -> Iterator[Row]:
    """The figures of the generators and of every method of DiCE, of the first ``people``."""
    case = case._replace(people=case.people[:people])
    title = f"{title}, {len(case.people)} people beside DiCE"
    search = options_of(Search, space, case)
    for name in GENERATORS:
        found = search if name == "search" else options_of(registry[name], space, case)
        yield from figures(title, name, case, found)
        made = (
            registry[name]
            .build(space, case.instances, Objective(L1()))
            .under(case.score, Threshold(0.5))
            .propose(case.people)
        )
        yield _broken_rules(title, name, _broken(case, space, made.people, made.points[made.point]), len(made.people))
    for method in METHODS:
        answer = _asked(method, case, patience_seconds)
        if answer is not None:
            yield from _rows(title, f"DiCE {method}", case, space, answer, search)


def _rows(
    title: str, line: str, case: Case, space: Space, answer: dict[str, np.ndarray], search: Options
) -> Iterator[Row]:
    """What DiCE returned and the model accepts, as the search's options are accepted."""
    whose, targets, seconds = answer["whose"], answer["targets"], float(answer["seconds"])
    accepted = case.score(targets) > 0.5 if len(targets) else np.zeros(0, dtype=bool)
    whose, targets = whose[accepted], targets[accepted]
    theirs = cheapest(case.source.codec, case.people, whose, targets, seconds)
    broken = _broken(case, space, whose, targets)
    progress(f"{title}, {line}: {len(targets)} options, broken rules {dict(broken)}, {seconds:.1f} s")
    yield from figures(title, line, case, theirs)
    yield _broken_rules(title, line, broken, len(targets))
    _, here, there = np.intersect1d(search.people, theirs.people, return_indices=True)
    if len(here):
        costs = mean(theirs.cost[there]), mean(search.cost[here])
        yield row(title, line, "cost / search's", costs[0] / costs[1] if costs[1] else math.inf, "x")
    times = SEPARATOR.join((title, line, "CPU / search's"))
    yield Row(times, seconds / search.seconds, "x", aim=AIM_TIMES_FASTER)


def _broken_rules(title: str, line: str, broken: Counter[str], options: int) -> Row:
    return row(title, line, "broken rules an option", broken.total() / max(1, options))


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
        asked = {"spec": str(folder / "spec.yaml"), "method": method, "patience_seconds": patience_seconds}
        (folder / "asked.json").write_text(json.dumps(asked))
        (folder / "spec.yaml").write_bytes(case.source.spec)
        command = [str(PYTHON), "-m", "onward.benchmarks.arena.dice", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dice_environment())
        if done.returncode:
            progress(f"DiCE {method} is left out: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
            return None
        with np.load(folder / "answer.npz") as stored:
            return dict(stored)


def dice_environment() -> dict[str, str]:
    """The environment of DiCE's process: one thread."""
    return os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
