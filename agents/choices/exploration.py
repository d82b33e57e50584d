"""Exploration: a share of the steps is drawn evenly, with known probabilities, whatever the choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contract import Array, Choice, Pick, Picks, Run, picked_one_by_one


class Exploration(NamedTuple):
    """Takes a choice's steps; with probability ``share`` its pick gives way to an even draw among the feasible.

    The choice counts what is taken as its own pick. A pick that it drew itself stays, since of the others' probability
    nothing is known; so every propensity is exact.
    """

    choice: Choice
    share: float

    def choose(
        self,
        person: Array,
        feasible: NDArray[np.intp],
        execution: Array,
        random: Callable[[], np.random.Generator],
        coin: np.random.Generator,
    ) -> Pick | None:
        """Take one step, as ``Choice.choose`` does; ``coin`` gives random numbers that the choice does not use."""
        choice, count = self.choice, len(feasible)
        drawn = int(coin.integers(count)) if count > 1 and coin.random() < self.share else None
        before = None if drawn is None else choice.state()
        pick = choice.choose(person, feasible, execution, random)
        if pick is None or count == 1 or pick.propensity < 1.0:
            return pick
        even = self.share / count
        if drawn is None or before is None or feasible[drawn] == pick.candidate:
            return pick._replace(propensity=1.0 - self.share + even)
        choice.restore(before)
        return take(choice, drawn, person, feasible, execution, random)._replace(propensity=even)

    def choose_run(
        self,
        run: Run,
        random: Callable[[int], np.random.Generator],
        coins: Iterator[np.random.Generator],
    ) -> Picks:
        """Take the steps of a run, one by one, with a coin each."""

        def choose(
            person: Array,
            feasible: NDArray[np.intp],
            execution: Array,
            random: Callable[[], np.random.Generator],
        ) -> Pick | None:
            return self.choose(person, feasible, execution, random, next(coins))

        return picked_one_by_one(run, choose, random)


def take(
    choice: Choice,
    at: int,
    person: Array,
    feasible: NDArray[np.intp],
    execution: Array,
    random: Callable[[], np.random.Generator],
) -> Pick:
    """Let a choice take a step with the candidate that stands ``at`` this place among the feasible, as its own pick."""
    only = slice(at, at + 1)
    pick = choice.choose(person, feasible[only], execution[only], random)
    assert pick is not None, f"{choice!r} did not pick the only candidate"
    return pick
