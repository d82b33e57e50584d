"""A choice that follows a log: it picks at every step, and learns from the logged picks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..choices import Choice, Pull, Seen
from ..choices.contract import Random
from ..choices.exploration import force
from ..options import Options


class Follower:
    """Lets a choice take every step of a log.

    The choice counts the logged picks as its own, whatever it would have picked, and learns their outcome when the
    log's policy did. So each of its picks depends on earlier steps alone.

    Parameters
    ----------
    choice
        What would have picked.
    max_options
        The most options that it picks at a step.
    second_way
        Whether the last of them is to do without what all others need.
    """

    def __init__(self, choice: Choice, max_options: int = 1, *, second_way: bool = False) -> None:
        self._choice = choice
        self._select = partial(choice.select, max_options=max_options, second_way=second_way)
        self._pulls: dict[int, dict[int, Pull]] = {}
        self._steps = 0

    def step(self, options: Options, taken: Sequence[int], random: Random) -> tuple[int, ...]:
        """Take the log's next step, at which the arms ``taken`` were picked; none when there was no option.

        Return the arms that this choice would have picked, best first.
        """
        choice, step = self._choice, self._steps
        self._steps = step + 1
        if not taken:
            self._select(options, random=random)
            return ()
        before = choice.state()
        picks = self._select(options, random=random)
        assert picks, f"{choice!r} picked none of {options.number} options"
        wanted = tuple(pick.arm for pick in picks)
        if set(wanted) != set(taken):
            choice.restore(before)
            picks = force(choice, options, options.arm.searchsorted(sorted(taken)).tolist(), random)
        self._pulls[step] = {pick.arm: Pull(step, pick.arm, pick.execution, pick.context) for pick in picks}
        return wanted

    def reward(self, step: int, rewards: dict[int, float]) -> None:
        """Learn the reward of each logged pick of a step that has one, by arm. The other picks are taken back."""
        for arm, pull in self._pulls.pop(step).items():
            if arm in rewards:
                self._choice.update(pull, rewards[arm])
            else:
                self._choice.retract(pull)

    def learn(self, step: int, seen: Seen, arm: int | None) -> None:
        """Let a choice by stages learn what is seen of a step's person, of whom ``arm`` is the option that they tried.

        None where nobody knows which.
        """
        pulls = self._pulls.pop(step)
        self._choice.learn([pull for picked, pull in pulls.items() if arm in (None, picked)], seen)

    def close(self, step: int) -> None:
        """Drop the pulls of a step without a reward, for a choice that ignores rewards of 0."""
        del self._pulls[step]
