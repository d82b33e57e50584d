"""Rounds in which goals are tried: people of whom everything is known compete for a few places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward.agents.goals import ClosedRound, Prospects, RoundGoal
from onward.agents.sigmoid import bounded_logit, bounded_sigmoid

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """People turned down in a round: the goal, the rounds for which it is promised, and in which of them, counted from
    1, each comes back and with which score; 0 for never."""

    goal: float
    rounds: tuple[int, ...]
    back_after: NDArray[np.int64]
    scores: Array

    def after(self, number: int) -> int:
        """How many of its rounds have passed with this one; 0 where it is none of them."""
        return self.rounds.index(number) + 1 if number in self.rounds else 0


@dataclass(frozen=True)
class LimitedPlaces:
    """Rounds of a program, in which people come back after one or two rounds with the score that they were told.

    Parameters
    ----------
    places
        The places of a round, by its number.
    reach
        Of the people turned down each reaches a goal of logit z with the probability bounded_sigmoid(reach - z).
    newcomers, triers
        How many people come to a round, and how many of those turned down try.
    centre, scale
        The logits of newcomers are normal: their mean, by the number of a round, and their standard deviation.
        ``reach`` and z are relative to the first mean, in these deviations.
    announced
        Of how many of the next rounds the places are known.
    stay, late
        The share of those who succeed that comes back at all, and the share of these that comes one round late. The
        predictions know nothing of either.
    """

    places: Callable[[int], int] = lambda number: 9
    reach: float = 2.0
    newcomers: int = 10
    triers: int = 8
    centre: Callable[[int], float] = lambda number: 0.0
    scale: float = 1.0
    announced: int = 0
    stay: float = 1.0
    late: float = 0.0

    def coverage(self, goal: RoundGoal, rounds: int, seed: int) -> Array:
        """The accepted share of those who reached their goal, by round (R,); NaN where nobody did."""
        random, told, shares = np.random.default_rng(seed), list[Told](), np.full(rounds, np.nan)
        for number in range(rounds):
            shares[number], newcomers = self._close(goal, number, told, random)
            aim = goal.aim(self._prospects(goal, number, told))
            success = random.random(self.triers) < self.chance(aim.score) * self.stay
            late = random.random(self.triers) < self.late
            promised = [one for one in range(number + 1, aim.until + 1) if one not in aim.without]
            told = [one for one in told if one.rounds[-1] > number]
            above = newcomers[newcomers > aim.score] if self.places(number) == 0 else np.empty(0)
            back_after = np.concatenate([np.where(success, 1 + late, 0), np.ones(len(above), np.int64)])
            scores = np.concatenate([np.full(self.triers, aim.score), above])
            told.append(Told(aim.score, tuple(promised), back_after, scores))
        return shares

    def chance(self, score: Array | float) -> Array:
        """The probability that a person who tries reaches scores."""
        chance: Array = np.asarray(bounded_sigmoid(self.reach - (bounded_logit(score) - self.centre(0)) / self.scale))
        return chance

    def _close(
        self, goal: RoundGoal, number: int, told: list[Told], random: np.random.Generator
    ) -> tuple[float, Array]:
        """Give the places, by score and a draw.

        Returned are the accepted share of those who come back with their goal, and the scores of newcomers.
        """
        newcomers = bounded_sigmoid(self.centre(number) + self.scale * random.normal(size=self.newcomers))
        back = [
            (one.goal, lag, score)
            for one in told
            if (lag := one.after(number))
            for after, score in zip(one.back_after.tolist(), one.scores.tolist(), strict=True)
            if after == lag
        ]
        own_goal, lag = np.array([goal for goal, *_ in back]), np.array([lag for _, lag, _ in back], np.int64)
        score, places = np.concatenate([newcomers, [score for *_, score in back]]), self.places(number)
        place = np.zeros(len(score), bool)
        place[np.lexsort((random.random(len(score)), -score))[:places]] = True
        accepted = place[len(newcomers) :]
        threshold = 0.0 if place.all() else float(score[place].min(initial=1.0))
        goal.observe(
            ClosedRound(number, places, threshold, newcomers, own_goal, lag, np.ones(len(back), bool), accepted)
        )
        return (float(accepted.mean()) if len(accepted) else float("nan")), newcomers

    def _prospects(self, goal: RoundGoal, number: int, told: list[Told]) -> Prospects:
        places = [self.places(number + after) for after in range(1, self.announced + 1)]
        if not goal.needs_prospects:
            return Prospects(places=places)
        waiting = [
            (one.goal, passed + 1)
            for one in told
            if (passed := sum(round <= number for round in one.rounds)) < goal.horizon
            for after in one.back_after[: self.triers]
            if not 0 < after <= passed
        ]
        open_goal, open_lag = np.array([score for score, _ in waiting]), np.array([lag for _, lag in waiting], np.int64)
        success = np.tile(self.chance(goal.candidates), (self.triers, 1))
        return Prospects(success, 1.0, open_goal, open_lag, self.chance(open_goal), places)
