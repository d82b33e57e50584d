"""The capacity forecast: the lowest goal at which those who reach it will find places."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..parameters import Interval
from ..rounding import ROUNDING
from ..sigmoid import bounded_logit, bounded_sigmoid
from .closed_round import Array, ClosedRound
from .components.places import RecentPlaces
from .components.rejected_share import Alike, rejected_share
from .components.return_rates import ReturnRates
from .components.score_distribution import ScoreDistribution
from .components.search import NEGLIGIBLE, GoalRange, between_candidates, lowest
from .components.season import RoundsAhead
from .rounds import Aim, Prospects, RoundGoal


class CapacityGoal(RoundGoal):
    r"""The lowest goal whose expected rejected share, of those who succeed, is at most $\alpha = 1 -$ coverage.

    People who are told a goal $g$ reach it in the next round with the probabilities $p_i(g)$; so their number $S$ has a
    Poisson-binomial distribution. Ahead of them are newcomers with a score of at least $g$, a binomial number, and
    those who reach a higher goal of an earlier round: together $B$. With $k$ places,

    $$g = \min \{g : E[\max(0, S - \max(0, k - B)) / S \mid S > 0] \le \alpha\}$$

    The scores of newcomers are learned from the rounds. So are the shares $r_l$ of those predicted to succeed who have
    come back successful after $l$ rounds, because some give up and some come later. Where k is not known it may be
    that of any of the last rounds, most probably that of the last one; where that of later rounds of the promise is, it
    counts by $r_l$.

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

    >>> goal = CapacityGoal(coverage=0.95, horizon=1)
    >>> goal.observe(ClosedRound(0, places=2, threshold=0.6, newcomers=np.array([0.4, 0.5, 0.6, 0.7])))
    >>> round(goal.aim(Prospects(np.ones((2, len(goal.candidates))))).score, 2)
    0.79

    With four places it may be lower.

    >>> round(goal.aim(Prospects(np.ones((2, len(goal.candidates))), places=(4,))).score, 2)
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
        self._returns = ReturnRates(horizon, memory)
        self._places = RecentPlaces()
        self._range = GoalRange(self.spread)

    @property
    def candidates(self) -> Array:
        """Scores around the last goal; around the first threshold before there is one."""
        return np.asarray(bounded_sigmoid(self._range.candidates))

    @property
    def return_rates(self) -> Array:
        """The shares (T,) of predicted successes that come back successful after 1, ..., T rounds."""
        return self._returns.rates

    def _learn(self, closed: ClosedRound) -> None:
        mean = self._newcomers.mean
        self._newcomers.add(bounded_logit(closed.newcomers))
        self._range.centre += self._newcomers.mean - mean
        if closed.places or len(closed.lag):
            self._returns.observe(closed.lag[closed.reached])
        if closed.places:
            if not self._places and closed.threshold > 0:
                self._range.centre[0] = bounded_logit(closed.threshold)
            self._places.add(closed.places)

    def aim(self, prospects: Prospects) -> Aim:
        """The goal of those who were turned down in the round that was observed last."""
        logits, success = self._range.fine, between_candidates(prospects.success)
        aim = super().aim(prospects)
        self.expect_returns(prospects)
        self._returns.expected[0] += prospects.weight * np.interp(bounded_logit(aim.score), logits, success.sum(axis=0))
        return aim

    def expect_returns(self, prospects: Prospects) -> None:
        """Keep how many successes are predicted among the open promises in the next round, by lag."""
        self._returns.expect(prospects.open_lag, prospects.open_success)

    def _score(self, prospects: Prospects, ahead: RoundsAhead) -> float:
        if len(prospects.success):
            logits = self._range.fine
            share = self._rejected_share(prospects, ahead, logits)
            self._range.take(lowest(logits, share, 1.0 - self.coverage), prospects.success)
        return float(bounded_sigmoid(self._range.centre[0]))

    def _rejected_share(self, prospects: Prospects, ahead: RoundsAhead, logits: Array) -> Array:
        """The expected rejected share (F,) of those who succeed, over the places that rounds ``ahead`` may have."""
        rates, success = self.return_rates, between_candidates(prospects.success)
        better = np.concatenate(
            [self._newcomers_ahead(logits), self._earlier_ahead(prospects, rates, bounded_sigmoid(logits))]
        )
        back = np.minimum(success * rates[0], 1.0)
        meanwhile = self._turned_down_in(ahead.numbers[0] - self.round.item() - 1, logits, back)
        shares = [
            chance * rejected_share(back, better, places, prospects.weight, meanwhile)
            for places, chance in self._places.expected(ahead.places, rates)
        ]
        return np.asarray(np.sum(shares, axis=0))

    def _turned_down_in(self, pauses: int, logits: Array, back: Array) -> Alike | None:
        """The newcomers of rounds without places, who all come to the same round; None without such rounds.

        Who is above the goal comes back as they are; of the others as many succeed as come ``back`` (n, F) of those who
        are turned down now.
        """
        if not pauses:
            return None
        above, rate = self._newcomers.reaching(logits), min(self.return_rates.item(0), 1.0)
        return Alike(round(pauses * self._newcomers.per_round), (1.0 - above) * back.mean(axis=0), rate * above)

    def _earlier_ahead(self, prospects: Prospects, rates: Array, scores: Array) -> Array:
        """The probabilities (j, F) that people reach a higher goal of an earlier round in the next one."""
        chance = np.minimum(prospects.open_success * rates[self._returns.place(prospects.open_lag)], 1.0)
        rows = chance > NEGLIGIBLE
        return chance[rows, None] * (prospects.open_goal[rows, None] > scores + ROUNDING)

    def _newcomers_ahead(self, logits: Array) -> Array:
        """The probabilities (m, F) that newcomers reach each score; the last of them for a part of a person."""
        share = self._newcomers.reaching(logits)
        whole, part = divmod(self._newcomers.per_round, 1.0)
        parts = np.repeat([1.0, part], [int(whole), 1])
        return parts[:, None] * share

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **self._newcomers.arrays(),
            **self._returns.arrays(),
            "places": self._places.last,
            **self._range.arrays(),
        }
