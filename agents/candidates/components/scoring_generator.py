"""The base of generators that score options themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from ...goals import Goal
from ...objective import Objective
from ...scores import digits_apart, rounded_down
from ..contract import Array, CandidateGenerator, Mask, Proposals, Score, Space
from .explanations import Relaxed, Unserved, relaxed_rules
from .judge import Judge


class ScoringGenerator(CandidateGenerator):
    """A generator that asks the current model for the scores of its targets, and compares them by an objective.

    Parameters
    ----------
    space
        The rules of the features.
    objective
        What options are compared by.
    score, goal
        The current model, and what its score must reach. Without them nothing can be proposed.
    """

    def __init__(
        self, space: Space, objective: Objective, score: Score | None = None, goal: Goal | None = None
    ) -> None:
        self.space, self._objective, self._score, self._goal = space, objective, score, goal

    @abstractmethod
    def _relaxed(self, space: Space) -> CandidateGenerator:
        """The same generator under the same model, with other rules of the features."""

    def reaching(self, person: Array) -> Array:
        """The targets proposed to a person (D,), else those that a search without the floor finds, (R, D)."""
        found = super().reaching(person)
        if len(found) or self._objective.floor is None:
            return found
        return self.under(*self._model(), self._objective._replace(floor=None)).propose(person[np.newaxis]).targets

    def _completed(self, people: Array, options: Proposals, propose: Callable[[Array], Proposals]) -> Proposals:
        """Options of encoded people (n, D), with those that ``propose`` has for the people without."""
        others = np.setdiff1d(np.arange(len(people)), options.people)
        if not len(others):
            return options.ordered()
        more = propose(people[others])
        return Proposals.joined([options, more._replace(people=others[more.people])]).ordered()

    def _unserved(self, person: Array) -> Unserved:
        """A person (D,) without an option, and what would be one."""
        score, goal = self._model()

        def valid(rows: Array) -> Mask:
            return self.space.allowed(rows) & goal.reached(score(rows))

        def options(space: Space) -> Array:
            return self._relaxed(space).propose(person[np.newaxis]).targets

        return Unserved(self.space, self._relaxed_rules, person, valid, options)

    @cached_property
    def _relaxed_rules(self) -> Sequence[Relaxed]:
        return relaxed_rules(self.space)

    @property
    def _judge(self) -> Judge:
        """The judge of targets under the current model."""
        return Judge(self.space, self._objective, *self._model())

    def _model(self) -> tuple[Score, Goal]:
        assert self._score is not None, "call `under` before anything is proposed"
        assert self._goal is not None, "call `under` before anything is proposed"
        return self._score, self._goal


def in_words(best: float, goal: Goal) -> tuple[str, str]:
    """The best score that can be reached, and the one that must be exceeded, with digits enough to tell them apart.

    A score that only equals the goal's is said to be no more.
    """
    digits = digits_apart(best, goal.required, goal.threshold)
    text = rounded_down(best, digits)
    is_equal = text == rounded_down(goal.required, digits) and not goal.reached(np.array(best))
    return f"{text}, not more" if is_equal else text, goal.in_words(digits)
