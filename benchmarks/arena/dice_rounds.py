"""Rounds with limited places in which DiCE recommends the changes. Runs in an environment of its own."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dice_ml
import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from onward.benchmarks.arena.dice import LABEL, patience
from onward.benchmarks.competition.dice import Answer, Asked
from onward.benchmarks.competition.measures import GOALS, Trials
from onward.environments.competition import Recommender, Settings, World, load_worlds

Floats = NDArray[np.float64]

KNOWN_PEOPLE = 2000
DECIMALS = 2
"""Of the features of the people that DiCE knows: it takes the step of its search for sparser changes from them."""


@dataclass
class Count:
    """How many plans were asked for and found, in how many seconds of CPU."""

    asked: int = 0
    found: int = 0
    seconds: float = 0.0


class Model:
    """A world's score behind the interface of scikit-learn; class 1 are the scores above ``goal``."""

    def __init__(self, world: World, features: list[str]) -> None:
        self._world, self._features = world, features
        self.goal = 0.5
        self.classes_ = np.array([0, 1])

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """The probabilities (n, 2) of both classes; the second is .5 at the goal."""
        score = self._world.score(frame[self._features].to_numpy(dtype=np.float64))
        odds = score / (1.0 - score) * (1.0 - self.goal) / self.goal
        return np.stack([1.0 / (1.0 + odds), odds / (1.0 + odds)], axis=1)

    def predict(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """The class, (n,)."""
        return (self.predict_proba(frame)[:, 1] > 0.5).astype(np.int64)


class DiceRecommender:
    """Tells everybody below their goal the counterfactual that DiCE shows; the person as they are where it has none."""

    def __init__(self, world: World, asked: Asked, count: Count) -> None:
        self._world, self._asked, self._count = world, asked, count
        self._features = [f"x{number}" for number in range(len(world.coef))]
        self._model = Model(world, self._features)
        people = world.people(np.random.default_rng(asked.seed), (KNOWN_PEOPLE,)).round(DECIMALS)
        frame = pd.DataFrame(people, columns=self._features)
        frame[LABEL] = self._model.predict(frame)
        data = dice_ml.Data(dataframe=frame, continuous_features=self._features, outcome_name=LABEL)
        model = dice_ml.Model(model=self._model, backend="sklearn")
        self._explainer = dice_ml.Dice(data, model, method=asked.method)

    def __call__(self, people: Floats, goals: Floats, difficulty: Floats) -> Floats:  # noqa: ARG002
        """The targets (n, D) of people (n, D) with goals (n,). DiCE knows nothing of difficulty."""
        targets, started = people.copy(), time.process_time()
        for number in np.flatnonzero(self._world.score(people) < goals).tolist():
            found = self._plan(people[number], goals.item(number))
            self._count.asked += 1
            if found is not None:
                self._count.found += 1
                targets[number] = found
        self._count.seconds += time.process_time() - started
        return targets

    def _plan(self, person: Floats, goal: float) -> Floats | None:
        self._model.goal = goal
        # Only `random` takes a seed, and that one draws from the global generators too.
        random.seed(self._count.asked)
        np.random.seed(self._count.asked)
        found: Any = None
        with patience(self._asked.patience_seconds), contextlib.suppress(UserConfigValidationException):
            found = self._explainer.generate_counterfactuals(
                pd.DataFrame([person], columns=self._features),
                total_CFs=1,
                desired_class=1,
                permitted_range={name: [0.0, 1.0] for name in self._features},
            ).cf_examples_list[0]
        shown = None if found is None else found.final_cfs_df_sparse
        if shown is None or len(shown) == 0:
            return None
        plan: Floats = shown[self._features].to_numpy(dtype=np.float64)[0]
        return plan


def answer(folder: Path) -> Answer:
    """Play one episode of each world."""
    asked = msgspec.json.decode((folder / "asked.json").read_bytes(), type=Asked)
    count = Count()

    def planner(world: World, settings: Settings) -> Recommender:  # noqa: ARG001
        return DiceRecommender(world, asked, count)

    trials = Trials(load_worlds(folder / "worlds.npz"), 1, asked.rounds, asked.seed)
    settings, goal = Settings(beta=asked.beta), GOALS[asked.goal]
    found = trials.measure(settings, goal=goal, planner=planner, first_round=asked.first_round)
    return Answer(
        feasibility=found.feasibility.tolist(),
        reliability=found.reliability.tolist(),
        error=found.error.tolist(),
        cost=found.cost.tolist(),
        gini=found.gini.tolist(),
        asked=count.asked,
        found=count.found,
        seconds=count.seconds,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    here = Path(sys.argv[1])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        played = answer(here)
    (here / "answer.json").write_bytes(msgspec.json.encode(played))
