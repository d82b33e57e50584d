"""The paper's learned agents, goal and recommender, in the settings that they were trained for."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.actor import Arrays, load_arrays
from onward.agents.candidates.recommenders import Bounds
from onward.agents.goals import RoundGoal
from onward.agents.goals.sac import Sac, goal_policy
from onward.benchmarks.competition import paper
from onward.benchmarks.competition.figures import draw
from onward.benchmarks.competition.measures import DEFAULT_GOAL, GoalOf, Measured, Trials
from onward.benchmarks.competition.plans import DEFAULT, Planner
from onward.benchmarks.competition.recommenders import Phi
from onward.benchmarks.competition.rows import episodes_row
from onward.benchmarks.face import Row, progress
from onward.environments.competition import CompetitionPeople, CompetitionRules, PracticeRecommender
from onward.streams.errors import UsageError

Floats = NDArray[np.float64]

LESSONS_OF_A_MEAN = 10
EPSILON = 0.01
"""The error with which a plan of the recommender counts as done in its training."""


class TrainedGoal(NamedTuple):
    """A policy, and the settings that it was trained for."""

    arrays: Arrays
    settings: CompetitionRules
    alpha: float

    def goal(self, offset: bool) -> GoalOf:
        """Makes the goal, with the conformal offset or without it."""
        return partial(_learned_goal, self.arrays, offset)


def _learned_goal(arrays: Arrays, offset: bool, coverage: float, horizon: int) -> RoundGoal:
    goal = Sac(coverage, horizon, offset=offset)
    goal.equip(goal_policy=goal_policy(arrays))
    return goal


def learned_goals(folders: Sequence[str], trials: Trials) -> Iterator[Row]:
    """Learned goals, alone and with the offset, beside the default at the nominal coverage and at the learned one's."""
    if not folders:
        progress("sac is left out: train a goal with `onward train-rl goal --output DIR`, and give --sac DIR")
    for trained in map(_trained_goal, folders):
        settings, case = trained.settings, _case(trained.settings)
        name = "sac" if trained.alpha == 7.0 else f"sac of alpha {trained.alpha:g}"
        alone = trials.measure(settings, goal=trained.goal(offset=False))
        reached = float(np.nanmean(alone.reliability))
        found = {
            name: alone,
            f"{name} + offset": trials.measure(settings, goal=trained.goal(offset=True)),
            DEFAULT_GOAL: trials.measure(settings),
            f"{DEFAULT_GOAL}, nominal as {name}": trials.measure(settings, min(max(reached, 0.01), 0.99)),
        }
        for title, measured in found.items():
            yield from _shares(title, case, measured, paper.RF.get((settings.horizon, settings.beta)))


def convergence(folders: Sequence[str], figures: Path | None, trials: Trials) -> Iterator[Row]:
    """RR and RF while goals were trained, with the noise of exploration, beside the default goal (figure 4)."""
    if not folders:
        progress("convergence is left out: train a goal with `onward train-rl goal --output DIR`, and give --sac DIR")
    curves: dict[str, list[tuple[float, float]]] = {}
    for folder in folders:
        trained, lessons = _trained_goal(folder), _lessons(folder)
        case, default = _case(trained.settings), trials.measure(trained.settings)
        for share, shown, beside in (
            ("reliability", "RR", default.reliability),
            ("feasibility", "RF", default.feasibility),
        ):
            curves[f"{shown} {case}, alpha {trained.alpha:g}"] = [
                (float(one["lesson"]), float(one[share])) for one in lessons
            ]
            for last in sorted({len(lessons) // 10, len(lessons) // 3, len(lessons)}):
                values = [float(one[share]) for one in lessons[max(0, last - LESSONS_OF_A_MEAN) : last]]
                name = f"sac {case}, alpha {trained.alpha:g}, lessons to {last}: {shown}"
                yield Row(name, float(np.mean(values)), "", reference=float(np.nanmean(beside)))
    if figures is not None:
        draw(figures, {}, {}, {}, curves)


def _lessons(folder: str) -> list[dict[str, str]]:
    try:
        with (Path(folder) / "goal.csv").open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    except OSError as error:
        raise UsageError(f"--sac {folder}: it holds no lessons of `onward train-rl goal`: {error}") from error


def learned_recommenders(folders: Sequence[str], goals: Sequence[str], trials: Trials) -> Iterator[Row]:
    """Learned recommenders, each in its world, beside the default, T = 1; with the default goal and a learned one."""
    if len(folders) != len(trials.worlds):
        progress(
            f"phi is left out: train a recommender for each of the {len(trials.worlds)} worlds with `python -m "
            "onward.benchmarks.competition.train_phi --world N --output DIR`, and give --phi DIR,DIR,..."
        )
        return
    arrays = [_arrays(folder, "phi", "recommender") for folder in folders]
    learned = {
        "phi": _planner(trials.worlds, arrays, 0.0),
        f"phi, aimed {EPSILON:g} above": _planner(trials.worlds, arrays, EPSILON),
    }
    trained = [goal for goal in map(_trained_goal, goals) if goal.settings.horizon == 1]
    for number, beta in enumerate((0.05, 0.01)):
        settings, reference = CompetitionRules(beta=beta), paper.HYBRIDS["own"][number]
        planners: dict[str, str | Planner] = {**learned, DEFAULT: DEFAULT}
        for name, planner in planners.items():
            found = trials.measure(settings, planner=planner)
            yield from _shares(name, _case(settings), found, reference)
            for what, values, printed in zip(
                ("score error", "cost"), (found.error, found.cost), paper.TABLE_1["own"], strict=True
            ):
                yield episodes_row(f"{name} {_case(settings)} {what}", values, reference=printed, better="lower")
        for goal in trained:
            if goal.settings.beta == beta:
                for name, planner in learned.items():
                    both = trials.measure(settings, goal=goal.goal(offset=True), planner=planner)
                    title = f"{name}, with sac of alpha {goal.alpha:g} + offset"
                    yield from _shares(title, _case(settings), both, reference)


def _shares(title: str, case: str, found: Measured, reference: float | None) -> Iterator[Row]:
    yield episodes_row(f"{title} {case} RR", found.reliability, reference=paper.NOMINAL)
    yield episodes_row(f"{title} {case} RF", found.feasibility, reference=reference)


def _case(settings: CompetitionRules) -> str:
    return f"T={settings.horizon} beta={settings.beta:g}"


def _planner(worlds: Sequence[CompetitionPeople], arrays: Sequence[Arrays], above: float) -> Planner:
    """The recommender of each world, which aims so far above the goal."""
    box = Bounds(np.zeros(1), np.ones(1))

    def planner(world: CompetitionPeople, settings: CompetitionRules) -> PracticeRecommender:  # noqa: ARG001
        [own] = (mine for other, mine in zip(worlds, arrays, strict=True) if other is world)

        def recommend(people: Floats, goals: Floats, difficulty: Floats) -> Floats:
            targets = np.where(goals > world.score(people), np.minimum(goals + above, 1.0), goals)
            return Phi(own, difficulty).recommend(world.linear, people, targets, box).targets

        return recommend

    return planner


def _trained_goal(folder: str) -> TrainedGoal:
    arrays = _arrays(folder, "sac", "goal")
    try:
        settings = json.loads((Path(folder) / "goal.json").read_text())
        return TrainedGoal(
            arrays, CompetitionRules(horizon=settings["horizon"], beta=settings["beta"]), settings.get("alpha", 7.0)
        )
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"--sac {folder}: it holds no goal of `onward train-rl`: {error}") from error


def _arrays(folder: str, flag: str, name: str) -> Arrays:
    try:
        return load_arrays(Path(folder) / f"{name}.npz")
    except (OSError, ValueError) as error:
        raise UsageError(f"--{flag} {folder}: it holds no trained {name}: {error}") from error
