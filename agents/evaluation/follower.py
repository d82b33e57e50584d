"""A choice that follows a log: it picks at every step, and learns from the logged pick."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..choices import Choice, Pull
from ..choices.exploration import force
from ..options import Options


class Follower:
    """Lets a choice take every step of a log.

    The choice counts the logged pick as its own, whatever it would have picked, and learns that pick's outcome when the
    log's policy did. So each of its picks depends on earlier steps alone.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._pulls: dict[int, Pull] = {}
        self._steps = 0

    def step(self, options: Options, taken: int | None, random: Callable[[], np.random.Generator]) -> int | None:
        """Take the log's next step, at which the arm ``taken`` was picked, None when there was no option.

        Return the arm that this choice would have picked, None when there was no option.
        """
        choice, step = self._choice, self._steps
        self._steps = step + 1
        if taken is None:
            choice.select(options, 1, random)
            return None
        before = choice.state()
        picks = choice.select(options, 1, random)
        assert picks, f"{choice!r} picked none of {len(options)} options"
        pick = picks[0]
        wanted = pick.arm
        if wanted != taken:
            choice.restore(before)
            pick = force(choice, options, int(options.arm.searchsorted(taken)), random)
        self._pulls[step] = Pull(step, taken, pick.execution)
        return wanted

    def reward(self, step: int, reward: float) -> None:
        """Learn the reward of the logged pick of a step."""
        self._choice.update(self._pulls.pop(step), reward)

    def close(self, step: int) -> None:
        """Drop the pull of a step without a reward, for a choice that ignores rewards of 0."""
        del self._pulls[step]

    def retract(self, step: int) -> None:
        """Take back the logged pick of a step, which its person never saw."""
        self._choice.retract(self._pulls.pop(step))
