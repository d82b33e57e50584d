"""The graph of FACE: rows that are near each other and alike in what nobody can change are joined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

Array = NDArray[np.float64]

NEIGHBOURS = 50
"""Of a row in the graph of FACE-knn."""
RADIUS = 0.25
"""Of the graph of FACE-epsilon, in scaled features."""


def path_lengths(
    scaled: Array, fixed: NDArray[Any], starts: int, *, by_radius: bool = False, unweighted: bool = False
) -> Array:
    """The lengths (S, N) of the shortest paths from the first ``starts`` of N rows to all, infinite without a path.

    Parameters
    ----------
    scaled
        The rows, (N, D).
    fixed
        Their fixed features, (N, K). Rows are joined only where these are equal.
    starts
        S.
    by_radius
        Whether all rows within ``RADIUS`` are joined (FACE-epsilon), or the ``NEIGHBOURS`` nearest ones (FACE-knn).
    unweighted
        Whether edges are counted; else their lengths are added.

    References
    ----------
    Poyiadzi, R. et al. (2020). FACE: Feasible and Actionable Counterfactual Explanations. AIES.
    """
    graph = (
        radius_neighbors_graph(scaled, RADIUS, mode="distance")
        if by_radius
        else kneighbors_graph(scaled, min(NEIGHBOURS, len(scaled) - 1), mode="distance")
    ).tocoo()
    same = (fixed[graph.row] == fixed[graph.col]).all(axis=1)
    # A sparse array has no edge of length 0, and equal rows are joined too.
    length = np.maximum(graph.data[same], 1e-9)
    joined = csr_matrix((length, (graph.row[same], graph.col[same])), shape=(len(scaled), len(scaled)))
    found: Array = dijkstra(joined, directed=False, indices=range(starts), unweighted=unweighted)
    return found
