"""A choice that follows a log: it says what it would take, and learns from what was taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..choices import Choice, Pull
from ..choices.exploration import take

Array = NDArray[np.float64]


class Follower:
    """Asks a choice at every step of a log. Whatever it would take, it then counts what was taken as its own pick, and
    is told that pick's fate when the log's policy was. So each of its picks follows from earlier steps alone."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._pulls: dict[int, Pull] = {}
        self._steps = 0

    def step(
        self,
        person: Array,
        feasible: NDArray[np.intp],
        execution: Array,
        taken: int | None,
        random: Callable[[], np.random.Generator],
    ) -> int | None:
        """Take the log's next step, at which candidate ``taken`` was; return the one this choice would take, None
        when nothing is feasible. ``feasible`` (F,) and its ``execution`` (F,) are as for ``Choice.choose``."""
        choice, step = self._choice, self._steps
        self._steps = step + 1
        if taken is None:
            choice.choose(person, feasible, execution, random)
            return None
        before = choice.state()
        pick = choice.choose(person, feasible, execution, random)
        assert pick is not None, f"{choice!r} picked none of {len(feasible)} candidates"
        wanted = pick.candidate
        if wanted != taken:
            choice.restore(before)
            pick = take(choice, int(feasible.searchsorted(taken)), person, feasible, execution, random)
        self._pulls[step] = Pull(step, taken, pick.execution)
        return wanted

    def reward(self, step: int, reward: float) -> None:
        """Tell the reward of what was taken at a step."""
        self._choice.update(self._pulls.pop(step), reward)

    def passed(self, step: int) -> None:
        """Tell nothing of what was taken at a step: a patient choice knows already that no reward came."""
        del self._pulls[step]

    def unseen(self, step: int) -> None:
        """Tell that what was taken at a step was never seen."""
        self._choice.forget(self._pulls.pop(step))
