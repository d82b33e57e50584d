"""The capacity forecast: the lowest goal at which those who reach it will find places."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..parameters import Interval
from .closed_round import Array, ClosedRound
from .components.rejected_share import rejected_share
from .components.score_distribution import ScoreDistribution
from .rounds import LARGEST_LOGIT, TOLERANCE, Aim, Prospects, RoundGoal, logit, sigmoid

STEPS = np.array([-1.0, -0.4, -0.125, 0.0, 0.125, 0.4, 1.0])
"""The logits of the candidates, from the last goal, in radii of the search. Success between them is interpolated."""

FINE_STEPS = np.linspace(-1.0, 1.0, 41)
"""The same where the rejected share is computed."""

LEAST_RADIUS = 1.4
"""How far goals are searched around the last one at least, in standard deviations of newcomers' logits."""

FIRST_WIDENING = 4.0
"""So many times the least radius is the first one."""

PLACES_KEPT, PLACES_MEMORY = 8, 0.7
"""Rounds whose places are held to be possible where none are announced, and the weight of one relative to the next."""

PRIOR_PEOPLE = 5.0
"""The weight of the assumption that all who succeed come back in the next round."""

LEAST_PROBABILITY = 1e-9

NEGLIGIBLE = 1e-6
"""Promises that are reached less probably do not count."""


class Capacity(RoundGoal):
    r"""The lowest goal whose expected rejected share, of those who succeed, is at most $\alpha = 1 -$ coverage.

    People who are told a goal $g$ reach it in the next round with the probabilities $p_i(g)$; so their number $S$ has a
    Poisson-binomial distribution. Ahead of them are newcomers with a score of at least $g$, a binomial number, and
    those who reach a higher goal of an earlier round: together $B$. With $k$ places,

    $$g = \min \{g : E[\max(0, S - \max(0, k - B)) / S \mid S > 0] \le \alpha\}$$

    The scores of newcomers are learned from the rounds. So are the shares $r_l$ of those predicted to succeed who have
    come back successful after $l$ rounds, because some give up and some come later. Where k is not announced it may be
    that of any of the last rounds, most probably that of the last one.

    The search is around the last goal. It moves with the mean of newcomers' scores, its least radius is by their
    spread, and doubles where a goal lies at its end. It ends where nobody can reach the goal, by the predictions. Where
    no goal in reach will do, the goal is just beyond it.

    Parameters
    ----------
    offset
        Whether the conformal offset is added, as it is unless you say no.
    memory
        The weight of a round's newcomers and returns relative to those of the next round, between 0 and 1.

    Examples
    --------
    Two places, and two people who are sure to reach any goal: the goal is so high that hardly any newcomer reaches it.

    >>> nobody = np.empty(0)
    >>> back = {"own_goal": nobody, "lag": nobody.astype(int), "reached": nobody > 0, "accepted": nobody > 0}
    >>> goal = Capacity(coverage=0.95, horizon=1)
    >>> goal.observe(ClosedRound(0, places=2, threshold=0.6, newcomers=np.array([0.4, 0.5, 0.6, 0.7]), **back))
    >>> round(goal.aim(Prospects(np.ones((2, len(goal.candidates))))).score, 2)
    0.79

    With four places it may be lower.

    >>> round(goal.aim(Prospects(np.ones((2, len(goal.candidates))), places=4)).score, 2)
    0.63
    """

    name: ClassVar[str] = "capacity"
    needs_prospects: ClassVar[bool] = True

    def __init__(
        self,
        coverage: float,
        horizon: int,
        *,
        offset: bool = True,
        memory: Annotated[float, Interval(above=0, below=1)] = 0.98,
    ) -> None:
        super().__init__(coverage, horizon, offset=offset, memory=memory)
        self._newcomers = ScoreDistribution(memory)
        self._returned, self._predicted = np.zeros(horizon), np.zeros(horizon)
        self._expected = np.zeros(horizon)  # the predicted successes of the next round, by lag
        self._places = np.zeros(PLACES_KEPT, dtype=np.int64)  # of the last rounds that had any, the last one first
        self._centre, self._widening = np.zeros(1), np.full(1, FIRST_WIDENING)

    @property
    def candidates(self) -> Array:
        """Scores around the last goal; around the first threshold before there is one."""
        scores: Array = sigmoid(self._logits(STEPS))
        return scores

    def _logits(self, steps: Array) -> Array:
        """The logits of steps, in radii from the centre of the search."""
        logits: Array = self._centre[0] + self._widening[0] * LEAST_RADIUS * self.spread.logits * steps
        return logits

    @property
    def return_rates(self) -> Array:
        """The shares (T,) of predicted successes that come back successful after 1, ..., T rounds."""
        prior = np.zeros(self.horizon)
        prior[0] = PRIOR_PEOPLE
        rates: Array = (self._returned + prior) / (self._predicted + PRIOR_PEOPLE)
        return rates

    def _learn(self, closed: ClosedRound) -> None:
        memory, mean = self._newcomers.memory, self._newcomers.mean
        self._newcomers.add(logit(closed.newcomers))
        self._centre += self._newcomers.mean - mean
        lags = np.minimum(closed.lag[closed.reached], self.horizon) - 1
        for sums, new in (
            (self._returned, np.bincount(lags, minlength=self.horizon)),
            (self._predicted, self._expected),
        ):
            sums *= memory
            sums += new
        self._expected[:] = 0.0
        if not closed.places:
            return
        if self._places[0] == 0 and closed.threshold > 0:
            self._centre[0] = logit(closed.threshold)
        self._places[1:] = self._places[:-1].copy()
        self._places[0] = closed.places

    def aim(self, prospects: Prospects) -> Aim:
        """The goal of those who were turned down in the round that was observed last."""
        logits, success = self._logits(FINE_STEPS), between_candidates(prospects.success)
        aim = super().aim(prospects)
        self.expect_returns(prospects)
        self._expected[0] += prospects.weight * np.interp(logit(aim.score), logits, success.sum(axis=0))
        return aim

    def expect_returns(self, prospects: Prospects) -> None:
        """Keep how many successes are predicted among the open promises in the next round, by lag."""
        lag = np.minimum(prospects.open_lag, self.horizon) - 1
        self._expected[:] = np.bincount(lag, prospects.open_success, self.horizon)

    def _score(self, prospects: Prospects) -> float:
        if len(prospects.success):
            logits = self._logits(FINE_STEPS)
            self._move(self._lowest(logits, self._rejected_share(prospects, logits)), prospects.success)
        return float(sigmoid(self._centre[0]))

    def _rejected_share(self, prospects: Prospects, logits: Array) -> Array:
        """The expected rejected share (G,) of those who succeed, over the places that the next round may have."""
        rates, success = self.return_rates, between_candidates(prospects.success)
        ahead = np.concatenate([self._newcomers_ahead(logits), self._earlier_ahead(prospects, rates, sigmoid(logits))])
        back = np.minimum(success * rates[0], 1.0)
        shares = [
            chance * rejected_share(back, ahead, places, prospects.weight)
            for places, chance in self._places_expected(prospects.places)
        ]
        total: Array = np.sum(shares, axis=0)
        return total

    def _places_expected(self, announced: int | None) -> list[tuple[int, float]]:
        """The numbers of places that the next round may have, each with its probability."""
        if announced or not self._places.any():
            return [(announced or 0, 1.0)]
        weights = np.where(self._places > 0, PLACES_MEMORY ** np.arange(PLACES_KEPT), 0.0)
        return [
            (places, float(weights[self._places == places].sum() / weights.sum()))
            for places in np.unique(self._places[self._places > 0]).tolist()
        ]

    def _move(self, logits: float, success: Array) -> None:
        """Take these logits as the goal, or the nearest in the range; search farther where it is the last candidate.

        The range ends at the first candidate that nobody can reach, by the predicted success (n, G): no option leads
        to it, and none farther up would be any safer. It begins where all are sure of the goal, if the lowest one will
        do.
        """
        steps = np.clip(self._logits(STEPS), -LARGEST_LOGIT, LARGEST_LOGIT)
        sure = np.flatnonzero(success.min(axis=0) >= 1.0 - NEGLIGIBLE)
        possible = np.flatnonzero(success.max(axis=0) > NEGLIGIBLE)
        highest = min(int(possible[-1]) + 1, len(STEPS) - 1) if len(possible) else 0
        lowest = min(int(sure[-1]), highest, len(STEPS) // 2) if len(sure) and logits <= steps[0] else 0
        self._centre[0] = np.clip(logits, steps[lowest], steps[highest])
        factor = 2.0 if self._centre[0] in (steps[0], steps[-1]) else 0.5
        widest = max(LARGEST_LOGIT / (LEAST_RADIUS * self.spread.logits), 1.0)
        self._widening[0] = np.clip(self._widening[0] * factor, 1.0, widest)

    def _earlier_ahead(self, prospects: Prospects, rates: Array, candidates: Array) -> Array:
        """The probabilities (j, G) that people reach a higher goal of an earlier round in the next one."""
        chance = np.minimum(prospects.open_success * rates[np.minimum(prospects.open_lag, self.horizon) - 1], 1.0)
        rows = chance > NEGLIGIBLE
        ahead: Array = chance[rows, None] * (prospects.open_goal[rows, None] > candidates + TOLERANCE)
        return ahead

    def _newcomers_ahead(self, logits: Array) -> Array:
        """The probabilities (m, G) that newcomers reach each candidate; the last of them for a part of a person."""
        share = self._newcomers.reaching(logits)
        whole, part = divmod(self._newcomers.per_round, 1.0)
        parts = np.repeat([1.0, part], [int(whole), 1])
        return parts[:, None] * share

    def _lowest(self, logits: Array, share: Array) -> float:
        """Where the share falls to alpha for good, linear between candidates."""
        alpha = 1.0 - self.coverage
        above = np.flatnonzero(share > alpha)
        if len(above) == 0:
            return float(logits[0])
        at = int(above[-1])
        if at == len(logits) - 1:
            return float(logits[-1])
        part = (share[at] - alpha) / (share[at] - share[at + 1])
        return float(logits[at] + part * (logits[at + 1] - logits[at]))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **self._newcomers.arrays(),
            "returned": self._returned,
            "predicted": self._predicted,
            "expected": self._expected,
            "places": self._places,
            "centre": self._centre,
            "widening": self._widening,
        }


def between_candidates(success: Array) -> Array:
    """The probabilities (n, F) at the fine steps, of those (n, G) at the candidates: log(-log p) is linear between."""
    if len(success) == 0:
        return np.empty((0, len(FINE_STEPS)))
    loss = np.log(-np.log(np.clip(success, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)))
    right = np.clip(np.searchsorted(STEPS, FINE_STEPS), 1, len(STEPS) - 1)
    part = (FINE_STEPS - STEPS[right - 1]) / (STEPS[right] - STEPS[right - 1])
    probability: Array = np.exp(-np.exp(loss[:, right - 1] * (1.0 - part) + loss[:, right] * part))
    return probability
