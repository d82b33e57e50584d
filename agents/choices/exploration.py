"""Exploration: epsilon-greedy around any choice, with exact propensities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..options import OptionBatch, Options
from .contract import Choice, Pick, Random


class Exploration(NamedTuple):
    """Takes a choice's steps; with probability ``share`` uniformly drawn options replace the picks.

    Of F options N are suggested. An option is among N drawn ones with probability N / F. So the propensity of an own
    pick is 1 - share + share N / F, that of any other option share N / F.

    The choice counts the drawn options as its own picks. When the choice itself draws (propensity below 1), its picks
    are kept, because the probabilities of the other options are unknown.
    """

    choice: Choice
    share: float

    def select(
        self,
        options: Options,
        max_options: int,
        random: Random,
        coin: np.random.Generator,
        *,
        second_way: bool = False,
    ) -> tuple[Pick, ...]:
        """Take one step, as ``Choice.select`` does; ``coin`` gives random numbers that the choice does not use."""
        choice, count = self.choice, options.number
        size = min(max_options, count)
        drawn = _drawn(coin, count, size) if coin.random() < self.share else None
        before = None if drawn is None else choice.state()
        picks = choice.select(options, max_options, random, second_way=second_way)
        if len(picks) == count or any(pick.propensity < 1.0 for pick in picks):
            return picks
        arms = {pick.arm for pick in picks}
        if drawn is not None and before is not None and arms != set(options.arm[drawn].tolist()):
            choice.restore(before)
            picks = force(choice, options, drawn, random)
        uniform = self.share * size / count
        certain = 1.0 - self.share
        return tuple([pick._replace(propensity=uniform + certain * (pick.arm in arms)) for pick in picks])

    def select_batch(
        self,
        batch: OptionBatch,
        max_options: int,
        random: Callable[[int], np.random.Generator],
        coins: Iterator[np.random.Generator],
        *,
        second_way: bool = False,
    ) -> list[tuple[Pick, ...]]:
        """Take the steps of n people, one by one, with a coin each, as ``Choice.select_batch`` does."""
        return [
            self.select(batch.options_of(i), max_options, partial(random, i), next(coins), second_way=second_way)
            for i in range(batch.number)
        ]


def force(choice: Choice, options: Options, indices: Sequence[int], random: Random) -> tuple[Pick, ...]:
    """Let a choice take a step in which the options at these indices, which ascend, are the only ones."""
    picks = choice.select(options.only(*indices), len(indices), random, every=True)
    assert len(picks) == len(indices), f"{choice!r} did not pick the only options"
    return picks


def _drawn(coin: np.random.Generator, count: int, size: int) -> list[int]:
    """``size`` of ``count`` indices, drawn uniformly, ascending."""
    rest = list(range(count))
    return sorted(rest.pop(int(coin.integers(len(rest)))) for _ in range(size))
