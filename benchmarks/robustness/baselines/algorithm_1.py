"""Algorithm 1 of the paper: one convex problem for each vertex of the L^1 ball. A baseline."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from onward.agents.candidates.contract import Array


class Algorithm1:
    r"""Solves one problem for each vertex $\theta_0 \pm \alpha e_i$, where that vertex is the adversary's, for p = 1.

    For the vertex of column i and sign s that is where $s x_i \ge |x_j|$ for all other j, the intercept's 1 included.
    The best of the 2 (D + 1) solutions is the answer; the intercept has one sign only. As printed the adversary adds
    $\alpha\,\mathrm{sgn}(x_i)$, which is the person's best case: the answer is too optimistic. ``corrected`` subtracts
    it. Beyond p = 1 the vertices do not suffice.

    Parameters
    ----------
    weights, bias
        The linear score's log odds, (D,).
    radius
        Of the L^1 ball, in which the intercept changes too.
    corrected
        Whether the sign is the worst case's.

    References
    ----------
    Kyaw, P., Kayastha, K. and Jabbari, S. (2025). Optimal Robust Recourse with L^p-Bounded Model Change.
    arXiv 2509.21293. Algorithm 1, as far as it is known to us.
    """

    baseline: ClassVar[bool] = True

    def __init__(self, weights: Array, bias: float, radius: float, *, corrected: bool = False) -> None:
        self._parameters, self._radius = np.append(weights, bias), radius
        self._sign = -1.0 if corrected else 1.0

    def price(self, people: Array, trade: float) -> Array:
        """The targets, (n, D), of n people (n, D): unit costs, no bounds."""
        return np.array([self._person(person, trade) for person in people])

    def _person(self, own: Array, trade: float) -> Array:
        """The best of the vertices' solutions, by the objective that was minimised."""
        best, target = math.inf, own
        for column in range(len(own) + 1):
            for side in (1.0, -1.0) if column < len(own) else (1.0,):
                found, value = self._vertex(own, trade, column, side)
                if value < best:
                    best, target = value, found
        return target

    def _vertex(self, own: Array, trade: float, column: int, side: float) -> tuple[Array, float]:
        """The solution in the region of a vertex, and its objective; infinite where the solver fails."""
        d = len(own)
        theta = self._parameters.copy()
        theta[column] += self._sign * self._radius * side

        def objective(change: Array) -> tuple[float, Array]:
            odds = theta[:d] @ (own + change[:d] - change[d:]) + theta[d]
            slope = -theta[:d] / (1.0 + math.exp(min(odds, 700.0)))
            value = float(np.logaddexp(0.0, -odds) + trade * change.sum())
            return value, np.concatenate([slope, -slope]) + trade

        region, limit = self._region(own, column, side)
        start = own.copy()
        if column < d:
            start[column] = side * max(1.0, float(np.abs(own).max()))
        else:
            start = np.clip(own, -1.0, 1.0)
        first = np.concatenate([np.maximum(start - own, 0.0), np.maximum(own - start, 0.0)])
        constraint = LinearConstraint(np.hstack([region, -region]), -np.inf, limit - region @ own)
        bounds = [(0.0, None)] * (2 * d)
        found = minimize(objective, first, jac=True, method="SLSQP", bounds=bounds, constraints=[constraint])
        point = own + found.x[:d] - found.x[d:]
        # A solver that leaves the region has not solved this problem.
        inside = bool((region @ point <= limit + 1e-6).all()) and math.isfinite(found.fun)
        return point, float(found.fun) if inside else math.inf

    def _region(self, own: Array, column: int, side: float) -> tuple[Array, Array]:
        """The region as matrix (m, D) and limits (m,): ``matrix x <= limits``."""
        d = len(own)
        rows, limits = [np.vstack([np.eye(d), -np.eye(d)])], np.ones(2 * d)
        if column < d:
            others = np.delete(np.eye(d), column, axis=0)
            lead = np.zeros(d)
            lead[column] = side
            rows, limits = [others - lead, -others - lead, -lead[np.newaxis]], np.append(np.zeros(2 * d - 2), -1.0)
        return np.vstack(rows), limits
