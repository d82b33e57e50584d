"""The laws of the conformal offset, against an account of all rounds that is kept apart from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.goals import ClosedRound
from onward.agents.goals.offset import LARGEST, MEMORY, RATE, ConformalOffset

REACHED = np.array([True])


@dataclass
class Account:
    """The goals and returns of all rounds so far, and what the loss of the next one is by the definition."""

    horizon: int
    goals: dict[int, float] = field(default_factory=dict)
    returns: list[list[int]] = field(default_factory=list)
    """The lags of those who came back with their goal reached, by round with places."""

    def loss(self, closed: ClosedRound) -> float | None:
        """The rejected share; without anybody who reached a goal that of a supposed person."""
        if closed.reached.any():
            return float(np.mean([not place for place in closed.accepted[closed.reached]]))
        told = {
            lag: self.goals[closed.number - lag]
            for lag in range(1, self.horizon + 1)
            if closed.number - lag in self.goals
        }
        if not told:
            return None
        weights = {lag: 1.0 / lag + self._returned(lag) for lag in told}
        lost = sum(weight for lag, weight in weights.items() if closed.threshold > told[lag])
        return lost / sum(weights.values())

    def _returned(self, lag: int) -> float:
        """How many have come back after so many rounds; a round weighs more than the one before it."""
        ages = range(len(self.returns), 0, -1)
        return sum(MEMORY**age * lags.count(lag) for age, lags in zip(ages, self.returns, strict=True))


def random_round(random: np.random.Generator, number: int, horizon: int) -> ClosedRound:
    """A round in which often nobody comes back with a goal that they reach, and now and then no places."""
    back = int(random.integers(0, 4)) if random.random() < 0.5 else 0
    reached = random.random(back) < 0.7
    return ClosedRound(
        number=number,
        places=int(random.integers(0, 5)),
        threshold=float(random.choice([0.0, random.random(), random.random()])),
        newcomers=random.random(3),
        own_goal=random.random(back),
        lag=random.integers(1, horizon + 1, back),
        reached=reached,
        accepted=random.random(back) < 0.6,
    )


@given(st.integers(0, 2**32), st.integers(1, 5), st.floats(0.5, 0.99))
@settings(max_examples=60, deadline=None)
def test_the_mean_loss_differs_from_alpha_by_what_the_offset_has_moved_and_by_nothing_else(seed, horizon, coverage):
    """mean loss - alpha = (theta_N - theta_0) / (eta N), for any rounds, some of which are left out."""
    random, offset, account, losses, number = np.random.default_rng(seed), None, Account(horizon), list[float](), 0
    offset = ConformalOffset(coverage, horizon)
    for _ in range(40):
        closed = random_round(random, number, horizon)
        loss = account.loss(closed)
        offset.observe(closed)
        if closed.places:
            account.returns.append(closed.lag[closed.reached].tolist())
            losses += [] if loss is None else [loss]
            moved = RATE * (sum(losses) - len(losses) * (1.0 - coverage))
            assert offset.deviations == pytest.approx(moved, abs=1e-9)
        account.goals[number] = float(random.random())
        offset.keep(number, account.goals[number])
        number += int(random.choice([1, 1, 1, 2, 7]))


def lost(number: int, threshold: float = 1.0) -> ClosedRound:
    """A round in which the only person who comes back, after one round, gets no place."""
    return ClosedRound(number, 3, threshold, np.empty(0), np.array([0.5]), np.array([1]), REACHED, ~REACHED)


def nobody(number: int, threshold: float) -> ClosedRound:
    """A round in which nobody comes back."""
    none = np.empty(0)
    return ClosedRound(number, 3, threshold, none, none, none.astype(np.int64), none > 0, none > 0)


def test_goals_are_held_against_the_threshold_as_long_as_they_hold_and_no_longer():
    """The goal of round 0 is too low, and the only one. It holds until round 3."""
    moves = []
    for number in range(1, 6):
        offset = ConformalOffset(0.9, 3)
        offset.keep(0, 0.4)
        offset.observe(nobody(number, threshold=0.6))
        moves.append(round(offset.deviations / RATE, 9))
    assert moves == [0.9, 0.9, 0.9, 0.0, 0.0]


def test_a_goal_equal_to_the_threshold_is_enough():
    offset = ConformalOffset(0.9, 1)
    offset.keep(0, 0.6)
    offset.observe(nobody(1, threshold=0.6))
    assert offset.deviations == pytest.approx(-RATE * 0.1)


def test_goals_count_by_how_often_people_come_back_after_so_many_rounds():
    """One came back after one round, one more round ago than the prior says; the goal of two rounds ago was enough."""
    offset = ConformalOffset(0.9, 2)
    offset.observe(lost(0))
    before = offset.deviations
    offset.keep(0, 0.9)
    offset.keep(1, 0.1)
    offset.observe(nobody(2, threshold=0.5))
    recent = 1.0 + MEMORY
    assert (offset.deviations - before) / RATE == pytest.approx(recent / (recent + 0.5) - 0.1)


def test_a_round_without_places_is_no_loss_and_teaches_nothing():
    offset = ConformalOffset(0.9, 2)
    offset.keep(0, 0.1)
    before = {name: array.copy() for name, array in offset.arrays().items()}
    offset.observe(ClosedRound(1, 0, 1.0, np.empty(0), np.array([0.5]), np.array([1]), REACHED, ~REACHED))
    assert all((array == before[name]).all() for name, array in offset.arrays().items())


def test_the_offset_stays_within_its_limits():
    offset = ConformalOffset(0.9, 1, rate=4.0)
    for number in range(10):
        offset.observe(lost(number))
    assert offset.deviations == LARGEST
    for number in range(10, 60):
        offset.keep(number - 1, 0.9)
        offset.observe(nobody(number, threshold=0.5))
    assert offset.deviations == pytest.approx(-LARGEST)
