"""Exploration: epsilon-greedy around any choice, with exact propensities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..options import OptionBatch, Options
from .contract import BatchPick, Choice, Pick, select_one_by_one


class Exploration(NamedTuple):
    """Takes a choice's steps; with probability ``share`` a uniformly drawn option replaces the pick.

    Requires a choice that picks one option a step. The choice counts the replacement as its own pick. When the choice
    itself draws (propensity below 1), its pick is kept, because the probabilities of the other options are unknown.
    """

    choice: Choice
    share: float

    def select(
        self, options: Options, random: Callable[[], np.random.Generator], coin: np.random.Generator
    ) -> tuple[Pick, ...]:
        """Take one step, as ``Choice.select`` does; ``coin`` gives random numbers that the choice does not use."""
        choice, count = self.choice, len(options)
        drawn = int(coin.integers(count)) if count > 1 and coin.random() < self.share else None
        before = None if drawn is None else choice.state()
        picks = choice.select(options, 1, random)
        if not picks or count == 1 or picks[0].propensity < 1.0:
            return picks
        uniform = self.share / count
        if drawn is None or before is None or options.arm[drawn] == picks[0].arm:
            return (picks[0]._replace(propensity=1.0 - self.share + uniform),)
        choice.restore(before)
        return (force(choice, options, drawn, random)._replace(propensity=uniform),)

    def select_batch(
        self,
        batch: OptionBatch,
        random: Callable[[int], np.random.Generator],
        coins: Iterator[np.random.Generator],
    ) -> list[tuple[BatchPick, ...]]:
        """Take the steps of n people, one by one, with a coin each, as ``Choice.select_batch`` does."""
        return select_one_by_one(batch, lambda options, draw: self.select(options, draw, next(coins)), random)


def force(choice: Choice, options: Options, index: int, random: Callable[[], np.random.Generator]) -> Pick:
    """Let a choice take a step in which the option at this index is the only one."""
    picks = choice.select(options.only(index), 1, random)
    assert picks, f"{choice!r} did not pick the only option"
    return picks[0]
