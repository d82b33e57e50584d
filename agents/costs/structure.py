"""Which features make others easier or harder to change, and what a step then costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Indices
from .plan_costs import PlanCosts


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
        """The influences on changes of a feature: other features, each with the number of its weight."""
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
        return np.asarray(PlanCosts(coefficients, plan, self.floor, self.stop).totals(weights)[0])


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
