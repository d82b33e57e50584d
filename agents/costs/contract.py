"""The contract of costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Array as Array
from ..arrays import Indices as Indices
from ..arrays import Mask
from ..parameters import Parametrised
from .preferences import Preferences
from .structure import CostStructure


class Columns(NamedTuple):
    """The D encoded columns of F features: ``feature_of`` (D,) is the feature of each, ascending.

    A feature of several columns is one-hot, one of a single column has an order. ``movable`` (F,) are those that people
    may change.
    """

    feature_of: Indices
    movable: Mask

    @property
    def is_ordered(self) -> Mask:
        """The columns of features with an order, (D,)."""
        return np.asarray(np.bincount(self.feature_of, minlength=len(self.movable))[self.feature_of] == 1)


class Cost(Parametrised, ABC):
    """How hard it is for each person to become each candidate.

    Costs are not negative, and 0 where nothing changes. A person's row does not depend on the others in the batch, to
    the last bit. A parameter is a keyword of ``build``, declared once, as
    ``name: Annotated[float, Interval(...)] = default``, in the constructor. ``onward.testing.check_cost`` checks it.
    """

    name: ClassVar[str]
    """What a program spec's ``policy.cost`` calls it."""

    uses_population: ClassVar[bool] = True
    """Whether it looks at the ``reference`` of ``build``."""

    structure: CostStructure | None = None
    """How earlier changes influence it; None where it does not depend on their order."""

    @classmethod
    @abstractmethod
    def build(cls, columns: Columns, reference: Array, samples: int, seed: int, **parameters: float) -> Self:
        """The cost of a program.

        ``reference`` (N, D) are encoded rows of the population. Only a ``SampledCost`` draws: ``samples`` persons, by
        the ``seed``.
        """

    def preferences(self) -> Preferences | None:
        """The beliefs about the population before anybody has answered; None where all people are alike."""
        return None

    def preference_names(self, features: Sequence[str]) -> tuple[str, ...]:
        """The names of what its preferences are shares of, from those of the F features: the features themselves."""
        return tuple(features)

    @property
    def mean_weights(self) -> Array | None:
        """The mean weights (P,) of the population; None without a ``structure``."""
        return None

    @abstractmethod
    def of_pairs(self, candidates: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """Costs of shape (P,) of candidates ``index`` (P,) of (K, D) for people ``owner`` (P,) of (n, D).

        Both are encoded and scaled to [0, 1].
        """

    def of_targets(self, targets: Array, people: Array, owner: Indices | None = None) -> Array:
        """Costs (P,) of targets (P, D), for the people ``owner`` (P,) of (n, D), or all for one person (D,)."""
        if owner is None:
            people, owner = people[np.newaxis], np.zeros(len(targets), dtype=np.intp)
        return self.of_pairs(targets, people, np.arange(len(targets)), owner)

    def __call__(self, candidates: Array, people: Array) -> Array:
        """Costs of shape (n, K) for candidates (K, D) and people (n, D): the same bits."""
        owner, index = np.divmod(np.arange(len(people) * len(candidates)), max(1, len(candidates)))
        return self.of_pairs(candidates, people, index, owner).reshape(len(people), len(candidates))
