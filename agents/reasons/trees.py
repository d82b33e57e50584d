"""Contributions to a sum of trees: exact, by the leaves that mixtures of a person and the baseline can reach.

For one baseline the sum over all coalitions has a closed form for each leaf (Lundberg et al. 2020, interventional
TreeSHAP). Of the path to a leaf only those nodes count at which person and baseline part. The leaf is reached by the
coalitions that hold all u features by which the path follows the person, and none of the v by which it follows the
baseline. So each of the u gets its value times (u-1)! v! / (u+v)!, and each of the v loses it times u! (v-1)! / (u+v)!.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Indices
from ..compiled import compiled
from ..trees import Nodes, Thresholds, TreeSum


class TreeContributions:
    """The contributions to the sum of trees: log odds where its link is the logistic function, else the score itself.

    Parameters
    ----------
    trees
        The trees.
    baseline
        An encoded row, (D,).
    feature_of
        The feature of each column, (D,).
    """

    def __init__(self, trees: TreeSum, baseline: Array, feature_of: Indices) -> None:
        nodes, column = trees.nodes, trees.nodes[:, 0]
        row = np.asarray(baseline, dtype=trees.threshold.dtype)
        inner = column >= 0
        goes_left = np.zeros(len(column), dtype=bool)
        goes_left[inner] = row[column[inner]] <= trees.threshold[inner]
        # The baseline's child and the other one, and the feature of the node: what one step reads lies together.
        chosen = np.where(goes_left, nodes[:, 1], nodes[:, 2])
        other = np.where(goes_left, nodes[:, 2], nodes[:, 1])
        feature = np.where(inner, feature_of[np.where(inner, column, 0)], -1)
        self._nodes = np.stack([column, feature, chosen, other, goes_left], axis=1).astype(np.int32)
        self._trees, self._features = trees, int(feature_of.max()) + 1

    def contributions_of(self, people: Array) -> Array:
        """The contribution of each feature, (n, F), to the sums of encoded people (n, D)."""
        trees, total = self._trees, np.zeros((len(people), self._features))
        rows = np.ascontiguousarray(people, dtype=trees.threshold.dtype)
        add_contributions(rows, trees.roots, self._nodes, trees.threshold, trees.value, total)
        return total


@compiled
def add_contributions(
    rows: Thresholds,
    roots: Indices,
    nodes: Nodes,
    threshold: Thresholds,
    value: Array,
    total: Array,
) -> None:
    """Add to ``total`` (n, F) the contributions of the features to the sum of the trees for each of ``rows`` (n, D).

    A node of ``nodes`` (N, 5) is its column, negative in a leaf, its feature, the child to which the baseline goes, the
    other one, and whether the baseline goes left.
    """
    features = total.shape[1]
    side = np.zeros(features, np.int8)  # 1: the path follows the person, -1: the baseline, 0: they have not parted
    parted = np.empty(features + 1, np.int64)
    # A node, the number parted before it, and of these the person's.
    waiting = np.empty((2 * features + 2, 3), np.int64)
    for tree in range(len(roots)):
        for i in range(len(rows)):
            depth, persons, last = 0, 0, 0
            node = np.int64(roots[tree])
            while True:
                # Descend to a leaf; where the two part for the first time, the baseline's way waits.
                while nodes[node, 0] >= 0:
                    left = rows[i, nodes[node, 0]] <= threshold[node]
                    feature = nodes[node, 1]
                    if left == (nodes[node, 4] != 0) or side[feature] < 0:
                        node = nodes[node, 2]
                    elif side[feature] > 0:
                        node = nodes[node, 3]
                    else:
                        waiting[last, 0], waiting[last, 1], waiting[last, 2] = nodes[node, 2], depth, persons
                        last += 1
                        parted[depth], side[feature] = feature, 1
                        depth, persons = depth + 1, persons + 1
                        node = nodes[node, 3]
                if depth > 0:
                    # (u-1)! v! / (u+v)! is 1 / (u C), and u! (v-1)! / (u+v)! is 1 / (v C), by the binomial C(u+v, v).
                    others = depth - persons
                    binomial = 1.0
                    for number in range(1, min(persons, others) + 1):
                        binomial *= (max(persons, others) + number) / number
                    gain = value[node] / (max(persons, 1) * binomial)
                    loss = value[node] / (max(others, 1) * binomial)
                    for place in range(depth):
                        if side[parted[place]] > 0:
                            total[i, parted[place]] += gain
                        else:
                            total[i, parted[place]] -= loss
                if last == 0:
                    break
                last -= 1
                for place in range(waiting[last, 1] + 1, depth):
                    side[parted[place]] = 0
                depth, persons = waiting[last, 1] + 1, waiting[last, 2]
                side[parted[depth - 1]] = -1
                node = waiting[last, 0]
            for place in range(depth):
                side[parted[place]] = 0
