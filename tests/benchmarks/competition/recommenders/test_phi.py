"""The learned recommender: its arrays run without torch; that it learns is tested where torch is (make test-rl)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.agents.actor import Actor
from onward.agents.candidates.recommenders import Bounds
from onward.agents.soft_actor_critic import Learning
from onward.benchmarks.competition.recommenders.phi import Phi, inputs
from onward.benchmarks.competition.recommenders.phi_training import PhiTraining, Settings
from onward.streams.programs.models.scoring import LogisticScore

Array = np.ndarray[Any, Any]
SCORE = LogisticScore(np.array([4.0, 2.0, -3.0]), -2.0)
DIFFICULTY = np.array([0.8, 0.2, 0.3])
ANYWHERE = Bounds(np.zeros(1), np.ones(1))
SMALL = Settings(phase_1=300, phase_2=200, people=32, learning=Learning(batch=128, width=32, memory=5000))


def draw(random: np.random.Generator, count: int) -> tuple[Array, Array]:
    """People below their targets."""
    people = np.clip(random.normal([0.3, 0.4, 0.6], 0.1, (count, 3)), 0, 1)
    return people, random.uniform(0.4, 0.7, count)


def error(arrays: dict[str, Array]) -> float:
    people, targets = draw(np.random.default_rng(99), 300)
    plans = Phi(arrays, DIFFICULTY).recommend(SCORE, people, targets, ANYWHERE)
    return float(np.abs(SCORE(plans.targets) - targets).mean())


def test_an_exported_policy_runs_on_plain_arrays_row_by_row() -> None:
    random = np.random.default_rng(0)
    sizes = [(5, 8), (8, 8), (8, 6)]
    arrays = {f"weight_{k}": random.normal(0, 0.5, size) for k, size in enumerate(sizes)}
    arrays |= {f"bias_{k}": random.normal(0, 0.5, size[1]) for k, size in enumerate(sizes)}
    phi, (people, targets) = Phi(arrays, DIFFICULTY), draw(random, 20)
    plans = phi.recommend(SCORE, people, targets, ANYWHERE)
    change = plans.targets - people
    assert (change * np.sign(SCORE.weights) >= 0).all()
    alone = phi.recommend(SCORE, people[3:4], targets[3:4], ANYWHERE)
    assert alone.targets.tobytes() == plans.targets[3].tobytes()


@pytest.mark.rl
def test_a_short_training_learns_to_reach_targets() -> None:
    training = PhiTraining(draw, SCORE, DIFFICULTY, seed=0, settings=SMALL)
    before = error(training.export())
    progress = list(training.run(every=200))
    assert [point.update for point in progress] == [200, 400, 500]
    assert error(training.export()) < 0.25 * before


@pytest.mark.rl
def test_a_resumed_training_goes_on_as_the_other(tmp_path: Path) -> None:
    whole, first, second = (PhiTraining(draw, SCORE, DIFFICULTY, seed=1, settings=SMALL) for _ in range(3))
    list(whole.run(60))
    list(first.run(30))
    first.save(tmp_path / "checkpoint.pt")
    second.resume(tmp_path / "checkpoint.pt")
    list(second.run(30))
    assert second.update == 60
    assert all(np.array_equal(array, second.export()[name]) for name, array in whole.export().items())


@pytest.mark.rl
def test_the_arrays_say_what_the_network_says() -> None:
    import torch

    training = PhiTraining(draw, SCORE, DIFFICULTY, seed=2, settings=SMALL)
    people, targets = draw(np.random.default_rng(0), 10)
    missing = np.log(targets / (1 - targets)) - people @ SCORE.weights - SCORE.bias
    seen = inputs(people, targets, missing)
    mean = training.learner.mean(torch.tensor(seen, dtype=torch.float32)).numpy()
    assert np.allclose(Actor(training.export()).mean(seen), mean, atol=1e-5)
