"""The learned goal: its arrays run without torch; that it learns is tested where torch is (make test-rl)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onward.agents.actor import Actor, load_arrays, save_arrays
from onward.agents.goals import Aim, ClosedRound, Prospects
from onward.agents.goals.sac import FARTHEST, FEATURES, INPUTS, ROUNDS, RecentRounds, Sac, goal_policy
from onward.agents.goals.sac_training import LessonSettings, PlayedRounds, SacTraining, reward
from onward.agents.sigmoid import bounded_logit, bounded_sigmoid
from onward.agents.soft_actor_critic import Learning
from onward.tests.support.goal_policies import constant

SMALL = LessonSettings(
    lessons=10, rounds=25, warm_up=1, learning=Learning(batch=128, width=32, memory=5000, discount=0.5)
)


def closed(number: int = 0, **changes: object) -> ClosedRound:
    """A round of four newcomers with a mean logit of 0, three who came back, and two places."""
    back = {
        "own_goal": bounded_sigmoid(np.array([1.0, 1.0, 2.5])),
        "lag": np.array([1, 1, 2]),
        "reached": np.array([True, True, False]),
        "accepted": np.array([True, False, False]),
    }
    newcomers = bounded_sigmoid(np.array([-1.0, 0.0, 0.0, 1.0]))
    return ClosedRound(**{"number": number, "places": 2, "threshold": 0.5, "newcomers": newcomers, **back, **changes})


def equipped(horizon: int, arrays: dict[str, np.ndarray]) -> Sac:
    """The goal with a policy."""
    goal = Sac(0.95, horizon)
    goal.equip(goal_policy=goal_policy(arrays))
    return goal


def shares(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RR and RF of goals with these logits, in every round of the practice."""
    return bounded_sigmoid(2.0 * odds - 1.0), bounded_sigmoid(2.0 - 2.0 * odds)


class SameEveryRound:
    """A practice in which the higher a goal is, the more of those who reach it get a place, and the fewer reach it."""

    def __init__(self, episodes: int = 4) -> None:
        self.number = np.zeros(episodes)
        self.round = 0

    def start(self, number: int) -> list[ClosedRound]:
        self.round = 0
        return self._closed()

    def step(self, goals: np.ndarray) -> PlayedRounds:
        self.round += 1
        return PlayedRounds(self._closed(), *shares(bounded_logit(goals)))

    def _closed(self) -> list[ClosedRound]:
        return [closed(self.round) for _ in self.number]


def test_a_policy_sees_the_last_rounds_relative_to_newcomers() -> None:
    recent = RecentRounds()
    recent.observe(closed())
    nobody = {"own_goal": np.empty(0), "lag": np.empty(0, int), "reached": np.empty(0, bool)}
    recent.observe(closed(1, threshold=1.0, **nobody, accepted=np.empty(0, bool)))
    assert np.allclose(recent.rounds[0], [FARTHEST, 0.0, 0.0, np.log(2), 0.0, 0.0, 0.0])
    assert np.allclose(recent.rounds[1], [0.0, 0.0, 1.5, np.log(3.5), 1.5, 1.0, 0.5])
    assert (recent.rounds[2:] == 0).all()
    assert recent.rounds.shape == (ROUNDS, FEATURES)


def test_a_round_without_places_is_not_seen() -> None:
    recent = RecentRounds()
    recent.observe(closed(places=0))
    assert (recent.seen == 0).all()
    assert recent.mean == 0


def test_better_newcomers_move_the_goal_as_they_move() -> None:
    goals = [equipped(2, constant(0.4)) for _ in range(2)]
    for goal, shift in zip(goals, (0.0, 0.7), strict=True):
        goal.observe(closed(newcomers=bounded_sigmoid(np.array([-1.0, 0.0, 0.0, 1.0]) + shift)))
    one, other = (goal.aim(Prospects()) for goal in goals)
    assert bounded_logit(other.score) - bounded_logit(one.score) == pytest.approx(0.7)
    assert one == Aim(pytest.approx(bounded_sigmoid(2.0 * np.tanh(0.4))), 2, one.score)


def test_a_goal_without_its_policy_says_so() -> None:
    with pytest.raises(ValueError, match="sac has no policy"):
        Sac(0.95, 1).aim(Prospects())
    with pytest.raises(ValueError, match=r"sac needs \['goal_policy'\], not \[\]"):
        Sac(0.95, 1).equip()


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({}, "there is no array 'weight_0'"),
        (constant(0.0) | {"bias_1": np.zeros(5)}, "layer 1 has shapes"),
        (constant(0.0) | {"weight_0": np.zeros((12, 4))}, "the policy sees 12 numbers and answers 1"),
        (constant(0.0) | {"bias_3": np.zeros(2)}, "there is an array 'bias_3'"),
        (constant(np.nan), "array bias_2 does not hold finite numbers"),
        (constant(0.0) | {"bias_1": np.array(["0"] * 4)}, "array bias_1 does not hold finite numbers"),
        (constant(0.0) | {"weight_2": np.zeros((4, 3)), "bias_2": np.zeros(3)}, "the last layer has 3 numbers"),
    ],
)
def test_arrays_of_something_else_are_refused(arrays: dict[str, np.ndarray], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        goal_policy(arrays)


def test_arrays_are_written_and_read_without_pickle(tmp_path: Path) -> None:
    save_arrays(tmp_path / "goal.npz", constant(0.3))
    read = load_arrays(tmp_path / "goal.npz")
    assert Actor(read)(np.zeros((1, INPUTS))) == np.tanh(0.3)
    assert [file.name for file in tmp_path.iterdir()] == ["goal.npz"]
    np.savez(tmp_path / "other.npz", weight_0=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        load_arrays(tmp_path / "other.npz")


def test_the_reward_leaves_out_what_did_not_happen_and_is_finite() -> None:
    shares = np.array([1.0, np.nan, 0.0]), np.array([1.0, 1.0, 0.0])
    earned = reward(*shares, LessonSettings(alpha=7.0, tau=5.0))
    assert np.allclose(earned, [12.0, 5.0, 12.0 * (1 + 0.9 * np.log(0.05))])


@pytest.mark.rl
def test_a_short_training_learns_the_goal_with_the_best_reward() -> None:
    def earned(odds: object) -> np.ndarray:
        return reward(*shares(np.asarray(odds)), SMALL)

    best = earned(np.linspace(-2.0, 2.0, 401)).max()
    assert (earned([-2.0, 0.0, 2.0]) < best - 2.0).all()  # the limits, and what an untrained policy says
    training = SacTraining(SameEveryRound(), seed=0, settings=SMALL)
    first, *_, last = training.run()
    assert last.lesson == SMALL.lessons
    assert last.reward > first.reward + 1.0
    goal = equipped(1, training.export())
    for number in range(5):
        goal.observe(closed(number))
    assert earned(bounded_logit(goal.aim(Prospects()).score)) > best - 0.5


@pytest.mark.rl
def test_a_resumed_training_goes_on_as_the_other(tmp_path: Path) -> None:
    whole, first, second = (SacTraining(SameEveryRound(), seed=1, settings=SMALL) for _ in range(3))
    list(whole.run(4))
    list(first.run(2))
    first.save(tmp_path / "checkpoint")
    second.resume(tmp_path / "checkpoint")
    list(second.run(2))
    assert second.lesson == 4
    assert all(np.array_equal(array, second.export()[name]) for name, array in whole.export().items())
    assert not np.array_equal(first.export()["weight_0"], whole.export()["weight_0"])
