"""Costs of steps where some features make others easier or harder to change, so that the order of steps counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from .causal_pairs import pair_costs
from .contract import Array, Columns, Cost, Indices
from .mixture import GaussianMixture
from .preferences import Preferences
from .structure import CostStructure as CostStructure

SPREAD = 0.5
"""By how much people differ where a program does not say (standard deviation)."""


class Causal(Cost):
    """What a plan is expected to cost a person of the population: the cost of its steps in the cheapest order.

    The expectation is that of each step, with its floor, over the prior: closed form, and more than the cost under the
    mean weights.

    Parameters
    ----------
    columns
        The encoded columns of the features.
    structure
        Which features influence what it costs to change others. Values of features with an order are the encoded ones.
    prior
        Of the weights.

    Raises
    ------
    ValueError
        Where structure, prior and columns are not about the same features.

    Examples
    --------
    The second feature is easier to change while the first is low, so it is changed first.

    >>> structure = CostStructure(2, [(0, 1)], floor=0.0, offset=0.0, stop=0.0)
    >>> prior = GaussianMixture(np.ones(1), np.array([[1.0, 1.0, 3.0]]), np.zeros((1, 3)))
    >>> cost = Causal(Columns(np.arange(2), np.array([True, True])), structure, prior)
    >>> cost(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.0, 0.0]]))
    array([[2., 1.]])
    """

    name: ClassVar[str] = "causal"
    uses_population: ClassVar[bool] = False

    structure: CostStructure

    def __init__(self, columns: Columns, structure: CostStructure, prior: GaussianMixture) -> None:
        features, parameters = len(columns.movable), structure.parameters
        if structure.features != features:
            raise ValueError(f"the influences are of {structure.features} features, the columns of {features}")
        if prior.latents != parameters:
            raise ValueError(f"the prior has {prior.latents} weights: the features and influences need {parameters}")
        self.columns, self.structure, self.prior = columns, structure, prior
        first = np.searchsorted(columns.feature_of, np.arange(features))
        edges = np.array(structure.edges, dtype=np.intp).reshape(-1, 2)
        self._layout = first, np.bincount(columns.feature_of, minlength=features), edges
        self._kinds = prior.mass, prior.means, prior.covariances
        self._constants = structure.floor, structure.offset, structure.stop

    @classmethod
    def build(
        cls,
        columns: Columns,
        reference: Array,
        samples: int,
        seed: int,
        **parameters: float,
    ) -> Self:
        """The cost of a program that says nothing of influences: a weight of 1 with sd ``SPREAD`` for each feature."""
        cls.check(parameters)
        structure = CostStructure(len(columns.movable), floor=0.0, stop=0.0)
        means = np.ones((1, structure.parameters))
        return cls(columns, structure, GaussianMixture(np.ones(1), means, SPREAD * means))

    def preferences(self) -> Preferences:
        """Of which components of the prior people are believed to be before anybody has answered."""
        return Preferences(self.prior.mass)

    def preference_names(self, features: Sequence[str]) -> tuple[str, ...]:  # the shares are of kinds
        """The components of the prior, by number."""
        return tuple(f"component {number}" for number in range(1, len(self.prior.mass) + 1))

    @property
    def mean_weights(self) -> Array:
        """The mean weights of the prior, (P,)."""
        return self.prior.mean

    def of_pairs(self, candidates: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """Expected costs of shape (P,) of candidates ``index`` (P,) for people ``owner`` (P,)."""
        cost, pairs = np.empty(len(index)), (index, owner)
        candidates, people = np.ascontiguousarray(candidates), np.ascontiguousarray(people)
        pair_costs(candidates, people, pairs, self._layout, self._kinds, self._constants, cost)
        return cost
