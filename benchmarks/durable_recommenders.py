"""Recommenders that reach a target score, in the worlds of the paper on durable recourse.

Its table 1: the mean error of the score and the mean cost sum d |change| of people who are below the target. Beside it
the probability that a plan succeeds, and the processor time of a person. The paper does not print its worlds, nor the
targets of its table: here all targets are ``--target``. So a cost is also shown as a share of the projection's, which
the paper calls Ustun. Plans of maximal success come from known difficulties, and from those learned of 1,000 plans that
were carried out or not.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.recommenders import (
    Bounds,
    MaximalSuccess,
    Recommendations,
    Recommender,
)
from onward.agents.costs import DifficultyPosterior, attainability, plan_success, success_probability
from onward.benchmarks import face
from onward.benchmarks.competition.difficulty_step import DifficultyStep
from onward.benchmarks.competition.recommenders import MinimalL1, MinimalL2, Wachter
from onward.benchmarks.face import Row, progress
from onward.streams.errors import UsageError
from onward.streams.programs.models.scoring import LogisticScore

Array = NDArray[np.float64]

WIDTH = 120
SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[1].parent / "shared"))
STORED = SHARED / "reference" / "durable" / "worlds.npz"
AIM_ERROR, AIM_MICROSECONDS = 1e-9, 15.0
BETAS = (0.05, 0.01)
PAPER = {"minimal_l2": "Ustun", "wachter": "Wachter"}
"""Which row of table 1 a method is held against; the others against the paper's own."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    worlds: Path | None = field(
        default=None, metadata={"metavar": "FILE.npz", "help": "the frozen worlds; else those of the shared folder"}
    )
    people: int = field(default=4000, metadata={"quick": 200, "help": "people drawn from each world"})
    target: float = field(default=0.8, metadata={"help": "the score that everybody is to reach"})
    attempts: int = field(default=1000, metadata={"quick": 100, "help": "plans from which difficulties are learned"})


class World(NamedTuple):
    """A linear score and people who are below the target."""

    score: LogisticScore
    people: Array


class Found(NamedTuple):
    """The plans of all worlds' people, and the processor seconds they took."""

    people: Array
    plans: Recommendations
    error: Array
    seconds: float


def durable_recommenders(args: Args) -> Iterator[Row]:
    """All figures, by recommender and beta."""
    file = args.worlds or STORED
    if not file.exists():
        if args.worlds is not None:
            raise UsageError(f"--worlds {file}: there is no such file")
        progress(f"all is left out: there is no {file}")
        return
    worlds, targets = _worlds(file, args), json.loads((file.parent / "targets.json").read_text())
    difficulty, table = np.array(targets["difficulty_d"]), targets["table1"]["rows"]
    projected = _cost(_found(MinimalL2(), worlds, args.target), difficulty)
    for recommender in (MinimalL1(difficulty), MinimalL2(), Wachter()):
        found = _found(recommender, worlds, args.target)
        yield from _rows(recommender.name, found, difficulty, table)
        share = table[PAPER.get(recommender.name, "Ours")]["c"] / table["Ustun"]["c"]
        of_projection = _cost(found, difficulty) / projected
        yield Row(f"{recommender.name}, cost / projection's", of_projection, "share", share, better="lower")
        for beta in BETAS:
            yield Row(f"{recommender.name}, success, beta={beta:g}", _success(found, beta / difficulty), "share")
    for beta in BETAS:
        known = _found(MaximalSuccess(beta / difficulty), worlds, args.target)
        yield from _rows(f"maximal_success, beta={beta:g}", known, difficulty, table)
        success = _success(known, beta / difficulty)
        cheapest = _success(_found(MinimalL1(difficulty), worlds, args.target), beta / difficulty)
        yield Row(f"maximal_success, success, beta={beta:g}", success, "share", reference=cheapest)
        posterior, step = DifficultyPosterior(len(difficulty), beta), DifficultyStep(len(difficulty), beta)
        _learn(worlds, args, beta / difficulty, posterior, step)
        for name, learner in (("posterior", posterior), ("printed update", step)):
            error = float(np.abs(learner.difficulty - difficulty).sum())
            yield Row(f"difficulties by the {name}, error, beta={beta:g}", error, "", better="lower")
        learned = _found(MaximalSuccess(posterior.theta), worlds, args.target)
        reached = _success(learned, beta / difficulty)
        yield Row(f"maximal_success, learned, success, beta={beta:g}", reached, "share", reference=success)


def _worlds(file: Path, args: Args) -> list[World]:
    """The worlds of the file, each with its people below the target."""
    random = np.random.default_rng(args.seeds[0])
    worlds = []
    with np.load(file) as stored:
        for mu, sd, lo, hi, coef, intercept in zip(
            *(stored[name] for name in ("mu", "sd", "lo", "hi", "coef", "intercept")), strict=True
        ):
            people = np.clip((random.normal(mu, sd, (args.people, len(mu))) - lo) / (hi - lo), 0.0, 1.0)
            score = LogisticScore(np.ascontiguousarray(coef), float(intercept))
            worlds.append(World(score, people[score(people) < args.target]))
    return worlds


def _found(recommender: Recommender, worlds: list[World], target: float) -> Found:
    parts, error, seconds = [], [], 0.0
    bounds = Bounds(np.zeros(1), np.ones(1))
    first = worlds[0]
    recommender.recommend(first.score, first.people[:2], np.full(2, target), bounds)  # compiles
    for world in worlds:
        goals = np.full(len(world.people), target)
        started = time.process_time()
        plans = recommender.recommend(world.score, world.people, goals, bounds)
        seconds += time.process_time() - started
        parts.append(plans)
        error.append(np.abs(world.score(plans.targets) - goals))
    joined = Recommendations(*map(np.concatenate, zip(*parts, strict=True)))
    return Found(np.concatenate([world.people for world in worlds]), joined, np.concatenate(error), seconds)


def _rows(title: str, found: Found, difficulty: Array, table: dict[str, dict[str, float]]) -> Iterator[Row]:
    paper = table[PAPER.get(title, "Ours")]
    exact = title != "wachter"
    cost = _cost(found, difficulty)
    microseconds = found.seconds / len(found.people) * 1e6
    yield Row(f"{title}, error", float(found.error.mean()), "", paper["e"], AIM_ERROR if exact else None, "lower")
    aim = table["Ours"]["c"] if title == "minimal_l1" else None
    yield Row(f"{title}, cost", cost, "", paper["c"], aim, "lower")
    yield Row(f"{title}, a person", microseconds, "us CPU", None, AIM_MICROSECONDS if exact else None, "lower")
    progress(f"{title}: {len(found.people):,} people, cost {cost:.3f}, {microseconds:.1f} us a person")


def _cost(found: Found, difficulty: Array) -> float:
    """The mean of sum d |change|."""
    return float((np.abs(found.plans.targets - found.people) @ difficulty).mean())


def _success(found: Found, theta: Array) -> float:
    """The mean probability that a plan succeeds."""
    return float(plan_success(found.people, found.plans.targets, theta).mean())


def _learn(worlds: list[World], args: Args, theta: Array, posterior: DifficultyPosterior, step: DifficultyStep) -> None:
    """Let both learn from people who carry out projections: all features change, so each is attempted."""
    found, random = _found(MinimalL2(), worlds, args.target), np.random.default_rng(args.seeds[0])
    rows = random.permutation(len(found.people))[: args.attempts]
    attainable = attainability(found.people[rows], found.plans.targets[rows])
    changed = np.isfinite(attainable)
    succeeded = random.random(attainable.shape) < success_probability(attainable, theta)
    feature = np.broadcast_to(np.arange(len(theta)), attainable.shape)
    for learner in (posterior, step):
        learner.update(feature[changed], attainable[changed], succeeded[changed])


if __name__ == "__main__":
    sys.exit(face.run(Args, durable_recommenders, width=WIDTH))
