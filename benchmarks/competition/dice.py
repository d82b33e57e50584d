"""DiCE as the recommender of a competition, beside the default in the same episodes.

DiCE takes about a tenth of a second a plan, and the default goal asks for everybody's plans at seven scores. So the
people of both are told the goals of ``GOAL``, which asks for no plan. Its offset needs some rounds: the second half of
an episode counts.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from onward.agents.actor import save_arrays
from onward.benchmarks.competition import paper
from onward.benchmarks.competition.measures import GOALS, Trials
from onward.benchmarks.competition.plans import DEFAULT
from onward.benchmarks.competition.rows import episodes_row
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.dice import PYTHON, dice_environment, installed
from onward.environments.competition import Settings, World

GOAL = "conformal + offset"
METHODS = ("random", "genetic")
BETAS = (0.05, 0.01)
PATIENCE_SECONDS = 5.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What DiCE's process is asked to play."""

    method: str
    beta: float
    rounds: int
    seed: int
    first_round: int
    goal: str = GOAL
    patience_seconds: float = PATIENCE_SECONDS


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it, by episode, and how many plans were asked for and found, in how many seconds of CPU."""

    feasibility: list[float]
    reliability: list[float]
    error: list[float]
    cost: list[float]
    gini: list[float]
    asked: int
    found: int
    seconds: float


def beside_dice(trials: Trials) -> Iterator[Row]:
    """The figures of DiCE's methods and of the default recommender, in one episode of each world."""
    if not installed():
        return
    half = trials.rounds // 2
    for number, beta in enumerate(BETAS):
        ours = trials.measure(Settings(beta=beta), goal=GOALS[GOAL], planner=DEFAULT, first_round=half)
        yield episodes_row(f"{DEFAULT}, {GOAL}, beta={beta:g} RF", ours.feasibility)
        yield episodes_row(f"{DEFAULT}, {GOAL}, beta={beta:g} RR", ours.reliability, reference=paper.NOMINAL)
        for method in METHODS:
            asked = Asked(method=method, beta=beta, rounds=trials.rounds, seed=trials.seed, first_round=half)
            answer = _asked(asked, trials.worlds)
            if answer is not None:
                yield from _rows(f"DiCE {method}, {GOAL}, beta={beta:g}", answer, paper.HYBRIDS["DiCE"][number])


def _rows(name: str, answer: Answer, reference: float) -> Iterator[Row]:
    error, cost = paper.TABLE_1["DiCE"]
    yield episodes_row(f"{name} RF", np.array(answer.feasibility), reference=reference)
    yield episodes_row(f"{name} RR", np.array(answer.reliability), reference=paper.NOMINAL)
    yield episodes_row(f"{name} score error", np.array(answer.error), reference=error, better="lower")
    yield episodes_row(f"{name} cost", np.array(answer.cost), reference=cost, better="lower")
    yield episodes_row(f"{name} Gini", np.array(answer.gini), reference=paper.GINI["DiCE"], better="lower")
    yield Row(f"{name} plans found", answer.found / answer.asked, "share")
    yield Row(f"{name} a plan", answer.seconds / answer.asked * 1e6, "us", better="lower")


def _asked(asked: Asked, worlds: Sequence[World]) -> Answer | None:
    """DiCE's answer, from its own process; None, with a line that says why, when it fails."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as name:
        folder = Path(name)
        save_worlds(folder / "worlds.npz", worlds)
        (folder / "asked.json").write_bytes(msgspec.json.encode(asked))
        command = [str(PYTHON), "-m", "onward.benchmarks.arena.dice_rounds", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dice_environment())
        if done.returncode:
            progress(f"DiCE {asked.method} is left out: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
            return None
        return msgspec.json.decode((folder / "answer.json").read_bytes(), type=Answer)


def save_worlds(file: Path, worlds: Sequence[World]) -> None:
    """Write worlds as ``load_worlds`` reads them."""
    fields = {"mu": "mean", "sd": "deviation", "lo": "low", "hi": "high", "coef": "coef", "intercept": "intercept"}
    save_arrays(file, {name: np.array([getattr(world, own) for world in worlds]) for name, own in fields.items()})
