"""Costs of steps where some features make others easier or harder to change, so that the order of steps counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from .causal_pairs import pair_costs
from .contract import Array, Columns, Cost, Indices
from .mixture import GaussianMixture
from .plan_costs import PlanCosts
from .preferences import Preferences

SPREAD = 0.5
"""By how much people differ where a program does not say (standard deviation)."""


class CostStructure:
    r"""Which features influence what it costs to change others: a cost correlation structure.

    A step that changes feature $k$ by $v$, from a state in which feature $j$ has the value $x_j$, costs

    $$\max(floor,\; w_{kk} v + \sum_{j \to k} w_{jk} (offset + x_j)).$$

    So the order of steps counts. Values are scaled to [0, 1], those of one-hot features are 1, and $v$ is 1 for another
    category. The P weights are those of the features, in their order, then those of the edges. Without edges a step
    costs what the change itself does.

    Parameters
    ----------
    features
        Their number F.
    edges
        Pairs (j, k): feature j influences what it costs to change feature k. They form no cycle.
    floor
        The least that a step costs.
    offset
        Added to the value of an influencing feature.
    stop
        What ending a plan costs.

    Raises
    ------
    ValueError
        Where an edge names no feature, stands twice, or closes a cycle.

    Examples
    --------
    The example of equation 5, with the paper's equation 3 as it is printed: changes of two features together cost more
    than one by one.

    >>> structure = CostStructure(2, [(0, 1)], offset=0.0, stop=0.0)
    >>> weights, own = np.array([[1.0, 0.5, 1.0]]), np.array([1.0, 1.0])
    >>> structure.cost(own, [(0, 2.0)], weights), structure.cost(own, [(1, 2.0)], weights)
    (array([1.]), array([1.5]))
    >>> structure.cost(own, [(0, 2.0), (1, 2.0)], weights)
    array([3.5])

    That of figure 2: from (1, 1, 1) to (5, 5, 5) with weights of 1, in two orders. The text does not print the
    figure's edges; here each feature influences the next.

    >>> chain = CostStructure(3, [(0, 1), (1, 2)], offset=0.0, stop=0.0)
    >>> own, forward = np.ones(3), [(0, 5.0), (1, 5.0), (2, 5.0)]
    >>> chain.cost(own, forward, np.ones((1, 5))), chain.cost(own, forward[::-1], np.ones((1, 5)))
    (array([22.]), array([14.]))

    References
    ----------
    De Toni, G., Viappiani, P., Teso, S., Lepri, B. and Passerini, A. (2024). Personalized Algorithmic Recourse with
    Preference Elicitation. TMLR. Equations 3 to 5.
    """

    def __init__(
        self,
        features: int,
        edges: Sequence[tuple[int, int]] = (),
        *,
        floor: float = 1.0,
        offset: float = 1.0,
        stop: float = 1.0,
    ) -> None:
        self.features, self.floor, self.offset, self.stop = features, floor, offset, stop
        self.edges = tuple((int(parent), int(child)) for parent, child in edges)
        _check_edges(features, self.edges)
        self.order = _topological(features, self.edges)
        """All features, each after those that influence it."""

    @property
    def parameters(self) -> int:
        """The number P of weights."""
        return self.features + len(self.edges)

    def influences(self, feature: int) -> list[tuple[int, int]]:
        """What influences changes of a feature: other features, each with the number of its weight."""
        return [(parent, self.features + at) for at, (parent, child) in enumerate(self.edges) if child == feature]

    def coefficients(self, feature: Indices, size: Array, values: Array) -> Array:
        """The coefficients (T, P) of T steps: of a ``feature`` (T,), by ``size`` (T,), at ``values`` (T, F) before."""
        coefficients = np.zeros((len(feature), self.parameters))
        coefficients[np.arange(len(feature)), feature] = size
        for at, (parent, child) in enumerate(self.edges):
            coefficients[:, self.features + at] = (feature == child) * (self.offset + values[:, parent])
        return coefficients

    def cost(self, values: Array, steps: Sequence[tuple[int, float]], weights: Array) -> Array:
        """The costs (S,), under weights (S, P), of a plan for a person with ``values`` (F,).

        Each step is a feature and its new value.
        """
        states, changes = [], []
        for feature, value in steps:
            states.append(values)
            changes.append(abs(value - values[feature]))
            values = values.copy()
            values[feature] = value
        features = np.array([feature for feature, _ in steps], dtype=np.intp)
        coefficients = self.coefficients(features, np.array(changes), np.array(states).reshape(len(steps), -1))
        plan = np.arange(len(steps), dtype=np.intp)[np.newaxis]
        return np.asarray(PlanCosts(coefficients, plan, self.floor, self.stop).under(weights)[0])


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
        reference: Array,  # noqa: ARG003 -- the population is not looked at
        samples: int,  # noqa: ARG003 -- nothing is drawn
        seed: int,  # noqa: ARG003
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

    def preference_names(self, features: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 -- the shares are of kinds
        """The components of the prior, by number."""
        return tuple(f"component {number}" for number in range(1, len(self.prior.mass) + 1))

    @property
    def mean_weights(self) -> Array:
        """The mean weights of the prior, (P,)."""
        return self.prior.mean

    def of_pairs(self, candidates: Array, people: Array, which: Indices, whose: Indices) -> Array:
        """Expected costs of shape (P,) of candidates ``which`` (P,) for people ``whose`` (P,)."""
        cost, pairs = np.empty(len(which)), (which, whose)
        candidates, people = np.ascontiguousarray(candidates), np.ascontiguousarray(people)
        pair_costs(candidates, people, pairs, self._layout, self._kinds, self._constants, cost)
        return cost


def _check_edges(features: int, edges: Sequence[tuple[int, int]]) -> None:
    for edge in edges:
        if not all(0 <= feature < features for feature in edge):
            raise ValueError(f"the influence {edge} names no feature: they are numbered from 0 to {features - 1}")
        if edge[0] == edge[1]:
            raise ValueError(f"feature {edge[0]} influences itself: that is its own weight")
    if len(set(edges)) < len(edges):
        twice = next(edge for edge in edges if edges.count(edge) > 1)
        raise ValueError(f"the influence {twice} stands twice")


def _topological(features: int, edges: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    left, order = list(range(features)), list[int]()
    while left:
        free = [k for k in left if not any(child == k and parent in left for parent, child in edges)]
        if not free:
            raise ValueError(f"features {left} influence each other in a cycle")
        order += free
        left = [k for k in left if k not in free]
    return tuple(order)
