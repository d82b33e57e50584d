"""What a population is believed to prefer, and what a pick teaches of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..evidence import rounded

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

STRENGTH = 10.0
"""The number of picks that what is believed before any of them counts as."""
LEAST_SHARE = 0.02
"""No smaller share of people is believed to change a movable feature, and no larger one than all the others: else
nobody would be offered what could prove the belief wrong."""


def prior_shares(movable: NDArray[np.bool_]) -> Array:
    """The share of people who would change each feature, (F,), where they would change from 1 to all, uniformly.

    Examples
    --------
    >>> prior_shares(np.array([True, False, True]))
    array([0.75, 0.  , 0.75])
    """
    count = max(1, int(movable.sum()))
    return np.where(movable, (count + 1) / (2 * count), 0.0)


class Lesson(NamedTuple):
    """What answers say of F features: of a share ``seen`` (F,) of a person, ``editable`` (F,) would change each.

    Where people are of kinds instead, these stand for the features: a person is wholly seen, and of each kind in part.
    """

    editable: Array
    seen: Array


class Preferences:
    """The share of a population that would change each feature, or is of each kind, learned from what people pick.

    A Beta posterior a feature, whose counts may be fractions: of the sampled people who would have picked the same, the
    share with an editable feature is counted (``lessons``). That is expectation-maximisation, a step a pick. Counts are
    sums, so those of several learners add up; they are multiples of a unit, so that their order does not matter
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

    def __init__(
        self,
        prior: Array,
        strength: float = STRENGTH,
        memory: float = math.inf,
    ) -> None:
        self._prior, self._strength = prior, strength
        self._kept = math.exp(-1.0 / memory)
        self._counts = np.zeros((2, len(prior)))

    @property
    def shares(self) -> Array:
        """The posterior mean of the share of people who would change each feature, (F,); 0 where none may."""
        # Where others' picks were lost, taking them back may leave less than nothing.
        editable, seen = self._counts.clip(min=0.0)
        mean = (self._prior * self._strength + editable) / (self._strength + seen)
        return np.where(self._prior > 0.0, mean.clip(LEAST_SHARE, 1.0 - LEAST_SHARE), 0.0)

    @property
    def picks(self) -> float:
        """The number of picks that were learned from and count still."""
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

    def add(self, evidence: Mapping[str, NDArray[Any]]) -> None:
        """Learn what others have learned from other picks of the same population: the sums of their states.

        What is not there is 0.
        """
        self.restore({name: own + evidence.get(name, 0.0) for name, own in self.state().items()})

    def state(self) -> dict[str, NDArray[Any]]:
        """``seen`` (F,), of how many people something is known, and ``editable`` (F,), how many would change it."""
        return {"editable": self._counts[0].copy(), "seen": self._counts[1].copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Continue where preferences of the same features stood.

        Raises
        ------
        ValueError
            When the state is not one of such preferences; nothing is changed then.
        """
        if state.keys() != {"editable", "seen"} or any(each.shape != self._prior.shape for each in state.values()):
            sizes = {name: each.shape for name, each in state.items()}
            raise ValueError(f"the state holds {sizes}, these preferences editable and seen {self._prior.shape}")
        counts = np.stack([state["editable"], state["seen"]]).astype(np.float64)
        if not np.isfinite(counts).all():
            raise ValueError("the state's counts are not those of any picks: it is damaged")
        self._counts = counts
        return self


class Served(NamedTuple):
    """Whom k options serve among sampled people: ``suits`` (k,) is the share for whom each is the cheapest.

    ``satisfied`` is the share for whom one costs little enough. ``lessons`` are what the pick of each option would
    teach, and last what it would if a person took none.
    """

    suits: Array
    satisfied: float
    lessons: tuple[Lesson, ...]


def served(costs: Array, editable: NDArray[np.bool_], changed: NDArray[np.bool_], limit: float) -> Served:
    """Whom options serve that cost (k, S) in samples of a person, infinite where they cannot be carried out.

    ``editable`` (S, F) are the features that each sample would change, ``changed`` (k, F) those that the options
    change. A person is satisfied by a cost of at most ``limit``, and takes the cheapest option, the first of equals.
    Where an option suits no sample, its pick says of the features that it changes that they are editable. Of features
    that no option changes no pick says anything: else those that are not shown would be believed to be ever harder.

    Examples
    --------
    >>> costs = np.array([[0.2, 0.9, np.inf], [0.5, 0.1, np.inf]])
    >>> editable, changed = np.array([[1, 1], [1, 1], [0, 1]], dtype=bool), np.array([[1, 0], [1, 1]], dtype=bool)
    >>> found = served(costs, editable, changed, limit=1.0)
    >>> found.suits.round(2), round(found.satisfied, 2), found.lessons[-1].editable
    (array([0.33, 0.33]), 0.67, array([0., 1.]))
    """
    least = costs.min(axis=0, initial=np.inf)
    cheapest: Indices = np.where(np.isfinite(least), costs.argmin(axis=0) if len(costs) else -1, -1)
    groups = [cheapest == option for option in range(len(costs))]
    unsatisfied = ~(least <= limit)
    shown = np.asarray(changed.any(axis=0))
    lessons = [_lesson(editable[group], own, shown) for group, own in zip(groups, changed, strict=True)]
    nothing = np.zeros(editable.shape[1], dtype=np.bool_)
    return Served(
        np.array([group.mean() for group in groups]),
        float(1.0 - unsatisfied.mean()),
        (*lessons, _lesson(editable[unsatisfied], nothing, shown)),
    )


def _lesson(editable: NDArray[np.bool_], changed: NDArray[np.bool_], shown: NDArray[np.bool_]) -> Lesson:
    """The mean of some samples' editable features (s, F), of those ``shown`` (F,).

    Where there are no samples, the ``changed`` ones (F,) count.
    """
    if not len(editable):
        return Lesson(changed.astype(np.float64), changed.astype(np.float64))
    return Lesson(editable.mean(axis=0) * shown, shown.astype(np.float64))
