"""The posterior of each arm's probability of improving the people who carry it out."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, State

GRID_SIZE = 6
"""Number of grid values of theta: the midpoints of equal parts of [0, 1]."""

PRIOR_STRENGTH = 32.0
"""The weight, in arms, of the uniform distribution over the grid in the prior."""

MIN_EXECUTION = 1e-3
"""Execution probabilities are clipped this far from 0 and 1, so that no single outcome is conclusive."""

ARRAYS = ("log_likelihood", "unrewarded", "prior")


class ArmPosteriors:
    """The posterior of theta for each arm, with a prior learned from all arms.

    A pull with execution probability e is rewarded with probability theta e. It counts as unrewarded until its reward
    comes. The log-likelihood of theta is kept on a small grid, because a sum of log(1 - theta e) over different e has
    no shorter form. The prior is empirical Bayes, by one step of expectation-maximisation at a time: the mean
    posterior of the arms that were pulled, mixed with ``PRIOR_STRENGTH`` uniform ones.

    ``mean`` (K,) is the posterior mean, ``upper_index`` (K,) the mean plus ``optimism`` standard deviations.

    Parameters
    ----------
    arms
        Number K of arms.
    optimism
        Number of standard deviations in ``upper_index``.
    """

    PER_ARM: ClassVar[frozenset[str]] = frozenset({"log_likelihood", "unrewarded"})
    """The arrays of its state whose first axis is that of the arms."""

    def __init__(self, arms: int, optimism: float) -> None:
        self._optimism = optimism
        self._log_likelihood: Array = np.zeros((arms, GRID_SIZE))
        self._unrewarded: Array = np.zeros(arms)
        self._prior: Array = np.full(GRID_SIZE, PRIOR_STRENGTH / GRID_SIZE)
        self._evidence = self._log_likelihood, self._unrewarded, self._prior
        self._estimates = np.empty((2, arms))
        self.mean, self.upper_index = self._estimates
        self._count(0, arms, 0.0, 0.0, 0.0)

    def pull(self, arm: int, execution: float) -> None:
        """Count a pull, as unrewarded for now."""
        self._count(arm, arm + 1, execution, 1.0, 0.0)

    def reward(self, arm: int, execution: float, reward: float) -> None:
        """Count a pull as rewarded instead of unrewarded; a reward between 0 and 1 moves that part of the pull."""
        unrewarded = -reward if self._unrewarded[arm] >= reward else 0.0
        self._count(arm, arm + 1, execution, unrewarded, reward)

    def retract(self, arm: int, execution: float) -> None:
        """Take an unrewarded pull back, if the arm has one."""
        if self._unrewarded[arm] >= 1.0:
            self._count(arm, arm + 1, execution, -1.0, 0.0)

    def update_prior(self) -> None:
        """Set the prior to the current posteriors' mean, and all posteriors to those under the new prior."""
        prior = np.full(GRID_SIZE, PRIOR_STRENGTH / GRID_SIZE)
        add_posteriors(self._log_likelihood, self._prior, prior)
        self._prior[:] = prior
        self._count(0, len(self.mean), 0.0, 0.0, 0.0)

    def state(self) -> dict[str, NDArray[Any]]:
        """``log_likelihood`` (K, G) and ``prior`` (G,) on the grid of size G; ``unrewarded`` (K,), the number of
        unrewarded pulls."""
        return {name: array.copy() for name, array in zip(ARRAYS, self._evidence, strict=True)}

    def restore(self, state: State) -> None:
        """Continue from a state of the same number of arms."""
        for name, array in zip(ARRAYS, self._evidence, strict=True):
            array[:] = state[name]
        self._count(0, len(self.mean), 0.0, 0.0, 0.0)

    def _count(self, first: int, last: int, execution: float, unrewarded: float, rewarded: float) -> None:
        count_pulls(first, last, execution, unrewarded, rewarded, self._optimism, self._evidence, self._estimates)


Evidence = tuple[Array, Array, Array]
"""``log_likelihood`` (K, G), ``unrewarded`` (K,), ``prior`` (G,)."""


@compiled
def count_pulls(
    first: int,
    last: int,
    execution: float,
    unrewarded: float,
    rewarded: float,
    optimism: float,
    evidence: Evidence,
    estimates: Array,
) -> None:
    """Add a number of unrewarded and of rewarded pulls to each arm from ``first`` to before ``last``.

    ``evidence`` and the ``estimates`` (2, K), ``mean`` and ``upper_index``, are updated in place. Arms without any
    outcome have the same estimates, which are worked out once.
    """
    log_likelihood, unrewarded_pulls, prior = evidence
    mean, upper_index = estimates[0], estimates[1]
    e = min(max(execution, MIN_EXECUTION), 1.0 - MIN_EXECUTION)
    unknown = -1
    for k in range(first, last):
        unrewarded_pulls[k] += unrewarded
        if unrewarded or rewarded:
            for g in range(GRID_SIZE):
                p = grid_value(g) * e
                log_likelihood[k, g] += unrewarded * math.log(1.0 - p) + rewarded * math.log(p)
        elif not unrewarded_pulls[k] and has_no_outcome(log_likelihood, k):
            if unknown >= 0:
                mean[k], upper_index[k] = mean[unknown], upper_index[unknown]
                continue
            unknown = k
        centre, deviation = moments(log_likelihood[k], unrewarded_pulls[k], prior)
        mean[k], upper_index[k] = centre, centre + optimism * deviation


@compiled
def grid_value(g: int) -> float:
    """The midpoint of the g-th part of [0, 1]."""
    return (g + 0.5) / GRID_SIZE


@compiled
def moments(log_likelihood: Array, unrewarded: float, prior: Array) -> tuple[float, float]:
    """Find the mean and standard deviation of the posterior that a log-likelihood (G,) gives.

    The lowest grid value is replaced by 1 / (2 GRID_SIZE + unrewarded pulls). So the mean keeps falling with unrewarded
    pulls, and arms that are never rewarded take turns for ever.
    """
    largest = -math.inf
    for g in range(GRID_SIZE):
        largest = max(largest, log_likelihood[g])
    theta = 1.0 / (2.0 * GRID_SIZE + unrewarded)
    total, once, twice = 0.0, 0.0, 0.0
    for g in range(GRID_SIZE):
        theta = grid_value(g) if g else theta
        weight = prior[g] * math.exp(log_likelihood[g] - largest)
        total += weight
        once += weight * theta
        twice += weight * theta * theta
    mean = once / total
    return mean, math.sqrt(max(twice / total - mean * mean, 0.0))


@compiled
def add_posteriors(log_likelihood: Array, prior: Array, total: Array) -> None:
    """Add the posteriors of all arms that were pulled to ``total`` (G,), in place."""
    weight = np.empty(len(prior))
    for k in range(len(log_likelihood)):
        if has_no_outcome(log_likelihood, k):
            continue
        largest = log_likelihood[k].max()
        weights = 0.0
        for g in range(len(prior)):
            weight[g] = prior[g] * math.exp(log_likelihood[k, g] - largest)
            weights += weight[g]
        for g in range(len(prior)):
            total[g] += weight[g] / weights


@compiled
def has_no_outcome(log_likelihood: Array, k: int) -> bool:
    """Whether the likelihood of arm k is flat: no outcome of it was counted, or all were taken back."""
    flat = True
    for g in range(log_likelihood.shape[1]):
        flat = flat and log_likelihood[k, g] == 0.0
    return flat
