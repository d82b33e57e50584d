"""The cost of a decision: choosing one of 200 candidates of 13 features for a person, and learning its outcome.

Onward's choices include finding the feasible candidates, their costs and execution probabilities. They stand beside
the learners of other libraries, which only choose and learn. One core, processor time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from onward.agents.candidates import Mutable, RecourseInstances
from onward.agents.choices import Choice, Pull
from onward.agents.costs import L1, execution_probability
from onward.agents.objective import Objective
from onward.agents.options import OptionBatch
from onward.benchmarks import face
from onward.benchmarks.arena.decisions import COLUMNS, IMMUTABLE, Decisions, draw
from onward.benchmarks.face import Row, progress
from onward.benchmarks.improvement.methods import TUNED, Method, methods, warm_up
from onward.testing.spaces import scaled_space

RIVALS = {
    "vowpal wabbit cb_explore_adf": ("vowpal_wabbit", 1440.0),
    "river LinUCBDisjoint": ("river_linucb", 3280.0),
    "MABWiser LinUCB": ("mabwiser_linucb", 13_700.0),
}
"""The program in arena/, and what was measured before, in us."""
RIVALS_PYTHON = Path(__file__).resolve().parents[1] / "build" / "bandits" / "bin" / "python"

PUBLISHED_US = {"linucb": 101.0, "bwo_ucb": 41_000.0}
"""The paper's own code, measured before."""
AIMS_US = {"linucb": 15.0, "posterior": 40.0, "bwo_ucb": 2500.0}
SPAN = 100
"""The number of last steps over which the cost at a step is averaged."""
WINDOW = 10


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    seeds: range = field(default=range(3), metadata={"help": "seeds A-B, both included", "metavar": "A-B"})
    methods: tuple[str, ...] = field(
        default=(), metadata={"help": f"methods to measure (default: all choices, and {TUNED})"}
    )
    candidates: int = field(default=200, metadata={"help": "how many candidates"})
    steps: tuple[int, ...] = field(
        default=(200, 1000),
        metadata={"quick": (100, 200), "metavar": "T,U", "help": "after how many steps a choice is measured"},
    )
    repeats: int = field(default=5, metadata={"quick": 1, "help": "times that the same steps are taken"})
    chunk: int = field(default=500, metadata={"help": "people whose candidates are found together"})
    rival_steps: int = field(default=200, metadata={"quick": 20, "help": "decisions of a rival"})
    patience_seconds: float = field(default=120.0, metadata={"quick": 5.0, "help": "longest time of a play"})


Seconds = np.ndarray[tuple[int], np.dtype[np.float64]]


class Cost(NamedTuple):
    """Processor seconds: of finding a person's candidates, in a chunk and alone, and of each step taken, (T,); and the
    bytes of the learner's state at the end."""

    candidates: float
    alone: float
    steps: Seconds
    state_bytes: int


def bandits(args: Args) -> Iterator[Row]:
    """All figures: Onward's choices, then other libraries' learners."""
    worlds = [draw(seed, max(args.steps), args.candidates) for seed in args.seeds]
    chosen = [one for one in methods(args.methods) if _decides_alone(one)]
    found = {one.title: [_measure(one, decisions, args) for decisions in worlds] for one in chosen}
    if found:
        yield from _choices(found, args)
    yield from _rivals(args, worlds[0])


def _choices(found: Mapping[str, Sequence[Cost]], args: Args) -> Iterator[Row]:
    candidates = median(cost.candidates for costs in found.values() for cost in costs) * 1e6
    alone = median(cost.alone for costs in found.values() for cost in costs) * 1e6
    yield Row(f"candidates of a person, {args.chunk} at once", candidates, "us CPU", better="lower")
    yield Row("candidates of a person alone", alone, "us CPU", better="lower")
    for title, costs in found.items():
        name = title.partition("@")[0]
        for step in args.steps:
            last = slice(max(0, step - SPAN), step)
            measured = [float(cost.steps[last].mean()) for cost in costs if len(cost.steps) >= step]
            if not measured:
                progress(f"{title} at step {step} is left out: patience ended at {min(len(c.steps) for c in costs)}")
                continue
            row, value = f"{title}, a decision at step {step}", median(measured) * 1e6 + candidates
            yield Row(row, value, "us CPU", PUBLISHED_US.get(name), AIMS_US.get(name), "lower")
        taken, size = min(len(cost.steps) for cost in costs), max(cost.state_bytes for cost in costs)
        yield Row(f"{title}, its state after {taken} steps", size / 1000, "kB", better="lower")


def _decides_alone(method: Method) -> bool:
    if not method.choice.needs:
        return True
    progress(f"{method.title} is left out: what it costs is its verifier, a model of the program's own")
    return False


def _measure(method: Method, decisions: Decisions, args: Args) -> Cost:
    mutable: list[Mutable] = ["none" if column < IMMUTABLE else "any" for column in range(COLUMNS)]
    instances = RecourseInstances.build(scaled_space(np.arange(COLUMNS), mutable), decisions.points, Objective(L1()))
    _assess(instances, decisions, args.chunk)  # compiles before the measured calls
    batches, together = _assess(instances, decisions, args.chunk)
    _, alone = _assess(instances, decisions, 1)
    warm_up(method)
    learners = [method.learner(decisions.points, WINDOW) for _ in range(args.repeats)]
    steps = _least([_steps(learner, decisions, batches, args.patience_seconds) for learner in learners])
    progress(f"{method.title}: {steps[-SPAN:].mean() * 1e6:.1f} us a step after {len(steps)}")
    return Cost(together, alone, steps, sum(array.nbytes for array in learners[0].state().values()))


def _least(plays: Sequence[Seconds]) -> Seconds:
    """The least time of each step: its work is the same in every play, and other load only adds to it."""
    length = min(map(len, plays))
    least: Seconds = np.min([play[:length] for play in plays], axis=0)
    return least


def _assess(instances: RecourseInstances, decisions: Decisions, chunk: int) -> tuple[list[OptionBatch], float]:
    """The options of all people with their execution probabilities, and the seconds a person."""
    batches = []
    started = time.process_time()
    for start in range(0, len(decisions.people), chunk):
        people = decisions.people[start : start + chunk]
        whose, arm, points, point = instances.propose(people)
        cost = L1().of_pairs(points, people, point, whose)
        ends = np.searchsorted(whose, np.arange(len(people) + 1))
        execution = execution_probability(cost, 1.0 / COLUMNS)
        batches.append(OptionBatch(people, ends[:-1], ends[1:], arm, points, point, cost, execution))
    return batches, (time.process_time() - started) / len(decisions.people)


def _steps(learner: Choice, decisions: Decisions, batches: list[OptionBatch], patience_seconds: float) -> Seconds:
    """Seconds of each step: a choice, and the updates at that time. Fewer steps when patience ends."""
    deadline = time.monotonic() + patience_seconds
    people = ((batch, i) for batch in batches for i in range(batch.number))
    open_pulls: deque[tuple[Pull, bool]] = deque()
    spent: list[float] = []
    for t, (batch, i) in enumerate(people):
        if time.monotonic() > deadline:
            break
        started = time.process_time()
        while open_pulls and open_pulls[0][0].step <= t - WINDOW:
            pull, improved = open_pulls.popleft()
            learner.update(pull, float(improved))
        pick = learner.choose(batch.options_of(i), lambda: np.random.default_rng(0))
        spent.append(time.process_time() - started)
        if pick is not None:
            improved = bool(decisions.uniform[t] < decisions.chance[t, pick.arm])
            open_pulls.append((Pull(t, pick.arm, pick.execution, pick.context), improved))
    return np.array(spent)


def _rivals(args: Args, decisions: Decisions) -> Iterator[Row]:
    if not RIVALS_PYTHON.exists():
        progress(f"{', '.join(RIVALS)} are left out: they are not installed (`make bench-bandits` does it)")
        return
    few = Decisions(
        *(array if name == "points" else array[: args.rival_steps] for name, array in decisions._asdict().items())
    )
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as folder:
        file = Path(folder) / "decisions.npz"
        few.save(file)
        for title, (module, before) in RIVALS.items():
            command = [str(RIVALS_PYTHON), "-P", "-m", f"onward.benchmarks.arena.{module}", str(file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["it failed"])[-1]
                progress(f"{title} is left out: {reason}")
                continue
            value = float(json.loads(done.stdout.splitlines()[-1]))
            progress(f"{title}: {value:,.0f} us")
            yield Row(f"{title}, a decision", value, "us CPU", before, better="lower")


def _environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


if __name__ == "__main__":
    sys.exit(face.run(Args, bandits))
