"""The preferences of a population as they are believed, and the lesson of a pick."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Mask
from ..evidence import rounded
from ..states import State, check_state

STRENGTH = 10.0
"""The number of picks that what is believed before any of them counts as."""
LEAST_SHARE = 0.02
"""No smaller share of people is believed to change a movable feature, and no larger one than all the others: else
nobody would be offered what could prove the belief wrong."""


def prior_shares(movable: Mask) -> Array:
    """The share of people who would change each feature, (F,), where they would change from 1 to all, uniformly.

    Examples
    --------
    >>> prior_shares(np.array([True, False, True]))
    array([0.75, 0.  , 0.75])
    """
    count = max(1, int(movable.sum()))
    return np.where(movable, (count + 1) / (2 * count), 0.0)


class Lesson(NamedTuple):
    """What answers say of F features: what is ``seen`` (F,) of a person, 1 where all, and how much ``editable`` (F,).

    Where little is seen, ``editable`` may be more than it, or below 0: it is right in the mean of many picks. Where
    people are of kinds, these stand for the features: a person is wholly seen, and of each kind in part.
    """

    editable: Array
    seen: Array


class Preferences:
    """The share of a population that would change each feature, or is of each kind, learned from what people pick.

    A Beta posterior a feature, whose counts may be fractions (``served``): a pick counts as far as it tells. A lesson
    is a step of Fisher's scoring, so a first wrong idea of the population is not kept by picks that say little. Counts
    are sums, so those of several learners add up; they are multiples of a unit, so that their order does not matter
    unless something is forgotten.

    Parameters
    ----------
    prior
        The shares before any pick, (F,), such as ``prior_shares``.
    strength
        The number of picks that the prior counts as, above 0.
    memory
        The number of picks after which a pick counts e times less, above 0.

    Examples
    --------
    >>> preferences = Preferences(np.array([0.75, 0.75]), strength=4.0)
    >>> for _ in range(12):
    ...     preferences.learn(Lesson(np.array([1.0, 0.0]), np.ones(2)))
    >>> preferences.shares
    array([0.9375, 0.1875])
    """

    def __init__(self, prior: Array, strength: float = STRENGTH, memory: float = math.inf) -> None:
        self._prior, self._strength = prior, strength
        self._kept = math.exp(-1.0 / memory)
        self._counts = np.zeros((2, len(prior)))

    @property
    def shares(self) -> Array:
        """The posterior mean of the share of people who would change each feature, (F,); 0 where none may."""
        # Where others' picks were lost, taking them back may leave less than nothing.
        editable, seen = self._counts[0], self._counts[1].clip(min=0.0)
        mean = (self._prior * self._strength + editable) / (self._strength + seen)
        return np.where(self._prior > 0.0, mean.clip(LEAST_SHARE, 1.0 - LEAST_SHARE), 0.0)

    @property
    def picks(self) -> float:
        """The people who were seen and count still: those of the feature of which most were."""
        return float(self._counts[1].max(initial=0.0))

    def learn(self, lesson: Lesson) -> None:
        """Learn from one pick; earlier ones then count a little less."""
        self._counts = self._counts * self._kept + rounded(np.stack(lesson))

    @property
    def forgets(self) -> bool:
        """Whether a pick counts less with each later one, so that it cannot be taken back."""
        return self._kept < 1.0

    @property
    def additive(self) -> frozenset[str]:
        """The arrays of its state that are sums of what single picks teach: none where picks are forgotten."""
        return frozenset() if self.forgets else frozenset(self.state())

    def retract(self, lesson: Lesson) -> None:
        """Take back one pick that was learned from. Raise ``ValueError`` where picks are forgotten."""
        if self.forgets:
            raise ValueError("a pick that has been forgotten in part cannot be taken back")
        self._counts = self._counts - rounded(np.stack(lesson))

    def add(self, evidence: State) -> None:
        """Learn what others have learned from other picks of the same population: the sums of their states.

        What is not there is 0.
        """
        self.restore({name: counts + evidence.get(name, 0.0) for name, counts in self.state().items()})

    def state(self) -> dict[str, NDArray[Any]]:
        """``seen`` (F,), of how many people something is known, and ``editable`` (F,), how many would change it."""
        return {"editable": self._counts[0].copy(), "seen": self._counts[1].copy()}

    def restore(self, state: State) -> Self:
        """Continue where preferences of the same features stood.

        Raise ``ValueError`` when the state is not one of such preferences; nothing is changed then.
        """
        check_state(state, self.state(), "population")
        self._counts = np.stack([state["editable"], state["seen"]])
        return self


class ServedShares(NamedTuple):
    """The sampled people whom k options serve: ``suits`` (k,) is the share for whom each is the cheapest.

    ``satisfied`` is the share for whom one costs little enough. ``lessons`` are what the pick of each option would
    teach, and last what it would if a person took none.
    """

    suits: Array
    satisfied: float
    lessons: tuple[Lesson, ...]


def served(costs: Array, editable: Mask, changed: Mask, limit: float) -> ServedShares:
    r"""Whom options serve that cost (k, S) in samples of a person, infinite where they cannot be carried out.

    ``editable`` (S, F) are the features that each sample would change, ``changed`` (k, F) those that the options
    change. A person takes the cheapest option, the first of equals, if it costs at most ``limit``: that satisfies them.

    A pick is one of several that the samples would have made. With $m$ the share of all samples that would change a
    feature, and $w_k$ of those that would have picked $k$, which a share $p_k$ does, a pick tells
    $I = \sum_k p_k (w_k - m)^2 / m (1 - m)$ of the feature: 1 where it follows from the pick, 0 where all picks leave
    it as it was. That is the observed information over the whole, and $w_k - m$ the score; so $I$ is seen, and
    $I m + w_k - m$ of it editable. Where a pick suits no sample, the features that it changes are editable. Of features
    that no option changes no pick says anything: else those that are not shown would be believed to be ever harder.

    Examples
    --------
    >>> costs = np.array([[0.2, 0.9, np.inf], [0.5, 0.1, np.inf]])
    >>> editable, changed = np.array([[1, 1], [1, 1], [0, 1]], dtype=bool), np.array([[1, 0], [1, 1]], dtype=bool)
    >>> whom = served(costs, editable, changed, limit=1.0)
    >>> whom.suits.round(2), round(whom.satisfied, 2), whom.lessons[0].editable.round(2)
    (array([0.33, 0.33]), 0.67, array([1., 0.]))
    """
    least = costs.min(axis=0, initial=np.inf)
    cheapest: Indices = np.where(np.isfinite(least), costs.argmin(axis=0) if len(costs) else -1, -1)
    groups = [cheapest == option for option in range(len(costs))]
    unsatisfied = ~(least <= limit)
    picked = np.where(unsatisfied, len(costs), cheapest)
    return ServedShares(
        np.array([group.mean() for group in groups]),
        float(1.0 - unsatisfied.mean()),
        _lessons([editable[picked == place] for place in range(len(costs) + 1)], editable, changed),
    )


def _lessons(groups: Sequence[Mask], editable: Mask, changed: Mask) -> tuple[Lesson, ...]:
    """The lessons of the pick of each option and of none: each has a group of samples, of which it is right."""
    shown, mean = changed.any(axis=0), editable.mean(axis=0)
    score = np.array([shown * (group.mean(axis=0) - mean) if len(group) else 0.0 * mean for group in groups])
    share, variance = np.array([len(group) for group in groups]) / len(editable), mean * (1.0 - mean)
    seen = np.divide(share @ score**2, variance, out=np.zeros_like(mean), where=variance > 0.0)
    asked = np.concatenate([changed, np.zeros_like(changed[:1])]) if len(changed) else np.zeros((1, len(mean)))
    return tuple(
        Lesson(seen * mean + group_score, seen) if len(group) else Lesson(suits_nobody * 1.0, suits_nobody * 1.0)
        for group, group_score, suits_nobody in zip(groups, score, asked, strict=True)
    )
