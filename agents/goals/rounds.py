"""The contract of goals for limited places: what a goal observes of a closed round, and what it then says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..parameters import Equipped
from ..sigmoid import bounded_logit, bounded_sigmoid
from ..states import State, check_state
from .closed_round import Array, ClosedRound, Indices
from .components.season import RoundsAhead, Season
from .components.spread import Spread
from .offset import ConformalOffset


@dataclass(frozen=True)
class Prospects:
    """The prospects of people who are turned down, and of those who were turned down in earlier rounds.

    Parameters
    ----------
    success
        The predicted probability (n, G) that each of n people reaches each of the goal's ``candidates`` (G,). None by
        default: nobody was turned down, or the goal does not need it.
    weight
        How many people each of the n stands for, where they are a sample.
    open_goal, open_lag, open_success
        The open promises of earlier rounds, each (j,): the score that was promised, how many rounds ago it will have
        been promised in the next round, and the predicted probability that it is reached.
    places
        The numbers of places of the rounds that come next, in their order; None: nobody has said it. None either of
        those after them.
    least_score
        The score that is needed even where places are left.
    """

    success: Array = field(default_factory=lambda: np.empty((0, 0)))
    weight: float = 1.0
    open_goal: Array = field(default_factory=lambda: np.empty(0))
    open_lag: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    open_success: Array = field(default_factory=lambda: np.empty(0))
    places: Sequence[int | None] = ()
    least_score: float = 0.0


class Aim(NamedTuple):
    """The score that must be reached, the last round in which it holds, and the score by the forecast alone.

    ``without`` are the numbers of the rounds up to then that have no places, as far as is known: it holds in none of
    them.
    """

    score: float
    until: int
    forecast: float
    without: tuple[int, ...] = ()


class RoundGoal(Equipped, ABC):
    """Which score wins a place in the rounds to come. One goal is told to everybody who is turned down in a round.

        goal = registry["capacity"](coverage=0.95, horizon=1)
        goal.observe(closed)                       # once for each closed round
        goal.aim(Prospects(success))               # the success of people at each of goal.candidates

    The guarantee is a long-run average: of those who reach the goal they were told, the share ``coverage`` gets a
    place. It is none for a single person or round. A goal is deterministic, and its state has a fixed size. Artefacts
    that it ``needs`` come with a model (``equip``), and are no part of the state.

    Parameters
    ----------
    coverage
        The nominal share, between 0 and 1.
    horizon
        The number T of rounds within which people come back, 1 or more. Rounds without places do not count.
    offset
        Whether the conformal offset is added to the goal's logit, which corrects it by the coverage so far.
    """

    name: ClassVar[str]
    """What a program spec calls it."""

    needs_prospects: ClassVar[bool] = False
    """Whether ``aim`` looks at the success of people; else ``Prospects()`` will do."""

    def __init__(self, coverage: float, horizon: int, *, offset: bool = False, **parameters: float) -> None:
        if not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage}: give a share between 0 and 1")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}: give a number of rounds, 1 or more")
        self.check(parameters)
        self.coverage, self.horizon = coverage, horizon
        self.offset = ConformalOffset(coverage, horizon) if offset else None
        self.spread = Spread()
        self.season = Season(0)
        self.round = np.array([-1], dtype=np.int64)

    def repeat_places(self, rounds: int) -> None:
        """Suppose from now on that the places of a round are those of so many ``rounds`` before."""
        self.season = Season(rounds)

    @property
    def candidates(self) -> Array:
        """The scores (G,), ascending, at which ``aim`` wants to know the success of people."""
        return np.empty(0)

    @property
    def constant_score(self) -> float | None:
        """The score that it says in every round; None where that depends on the rounds."""
        return None

    def observe(self, closed: ClosedRound) -> None:
        """Learn from a closed round.

        Raise ``ValueError`` when it is not later than the rounds observed before.
        """
        if closed.number <= self.round[0]:
            raise ValueError(f"round {closed.number} comes after round {self.round[0]}: rounds are observed in order")
        self.round[0] = closed.number
        self.spread.add(bounded_logit(closed.newcomers))
        self.season.add(closed.number, closed.places)
        self._learn(closed)
        if self.offset is not None:
            self.offset.observe(closed)

    def aim(self, prospects: Prospects) -> Aim:
        """The goal of those who were turned down in the round that was observed last."""
        number = self.round.item()
        ahead = self.season.ahead(number, self.horizon, prospects.places)
        score = forecast = self._score(prospects, ahead)
        if self.offset is not None:
            score = float(bounded_sigmoid(bounded_logit(score) + self.spread.logits * self.offset.deviations))
        score = max(score, prospects.least_score)
        if self.offset is not None:
            self.offset.keep(number, score)
        return Aim(score, ahead.numbers[-1], forecast, ahead.without)

    def expect_returns(self, prospects: Prospects) -> None:
        """Take note of open promises after a round in which nobody was turned down, in the place of ``aim``."""

    def _learn(self, closed: ClosedRound) -> None:
        """Learn from a closed round what this goal needs."""

    @abstractmethod
    def _score(self, prospects: Prospects, ahead: RoundsAhead) -> float:
        """The goal without the offset, which is promised for the rounds ``ahead``."""

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are this goal's own, by name; they are written to in place."""
        return {}

    def _all_arrays(self) -> dict[str, NDArray[Any]]:
        parts = {"spread": self.spread.arrays(), "offset": {} if self.offset is None else self.offset.arrays()}
        named = {f"{part}_{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
        season = {"season": self.season.last} if len(self.season.last) else {}
        return {"round": self.round, **self._arrays(), **season, **named}

    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of everything learned."""
        return {name: array.copy() for name, array in self._all_arrays().items()}

    def restore(self, state: State) -> None:
        """Continue exactly where a goal of the same kind and parameters stood.

        Raise ``ValueError`` when the state is not one of such a goal; nothing is changed then.
        """
        arrays = self._all_arrays()
        check_state(state, arrays, self.name)
        for name, array in state.items():
            arrays[name][...] = array
