"""Rounds in which goals are tried: people of whom everything is known compete for a few places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward.agents.goals import ClosedRound, Prospects, RoundGoal
from onward.agents.goals.rounds import logit, sigmoid

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LimitedPlaces:
    """Rounds of a program, in which some people come back in the next round with the score that they were told.

    Parameters
    ----------
    places
        The places of a round, by its number.
    reach
        Of the people turned down each reaches a goal of logit z with the probability sigmoid(reach - z).
    newcomers, triers
        How many people come to a round, and how many of those turned down try.
    centre, scale
        The logits of newcomers are normal: their mean, by the number of a round, and their standard deviation.
        ``reach`` and z are relative to the first mean, in these deviations.
    announced
        Whether the places of the next round are known.
    """

    places: Callable[[int], int] = lambda number: 9
    reach: float = 2.0
    newcomers: int = 10
    triers: int = 8
    centre: Callable[[int], float] = lambda number: 0.0
    scale: float = 1.0
    announced: bool = False

    def coverage(self, goal: RoundGoal, rounds: int, seed: int) -> Array:
        """The accepted share of those who reached their goal, by round (R,); NaN where nobody did."""
        random, told, shares = np.random.default_rng(seed), float(sigmoid(self.centre(0))), np.full(rounds, np.nan)
        for number in range(rounds):
            success = random.random(self.triers) < (self._chance(told) if number else 0.0)
            newcomers = sigmoid(self.centre(number) + self.scale * random.normal(size=self.newcomers))
            shares[number] = self._close(goal, number, newcomers, told, success, random)
            told = goal.aim(self._prospects(goal, number)).score
        return shares

    def _close(
        self, goal: RoundGoal, number: int, newcomers: Array, told: float, success: Array, random: np.random.Generator
    ) -> float:
        """Give the places, by score and a draw; the accepted share of those who succeed."""
        places, back = self.places(number), np.full(int(success.sum()), told)
        score = np.concatenate([newcomers, back])
        order = np.lexsort((random.random(len(score)), -score))
        place = np.zeros(len(score), bool)
        place[order[:places]] = True
        accepted = place[len(newcomers) :]
        threshold = 0.0 if place.all() else float(score[place].min(initial=1.0))
        reached = np.ones(len(back), bool)
        goal.observe(
            ClosedRound(number, places, threshold, newcomers, back, reached.astype(np.int64), reached, accepted)
        )
        return float(accepted.mean()) if len(accepted) else float("nan")

    def _prospects(self, goal: RoundGoal, number: int) -> Prospects:
        places = self.places(number + 1) if self.announced else None
        if not goal.needs_prospects:
            return Prospects(places=places)
        return Prospects(np.tile(self._chance(goal.candidates), (self.triers, 1)), places=places)

    def _chance(self, score: Array | float) -> Array:
        chance: Array = np.asarray(sigmoid(self.reach - (logit(score) - self.centre(0)) / self.scale))
        return chance
