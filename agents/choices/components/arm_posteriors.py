"""What is believed of each candidate: the probability that it improves those who become it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, State

LEVELS = 6
"""A candidate's probability theta is one of so many: the middles of equal parts of [0, 1]."""

CROWD = 32.0
"""So many candidates' weight has the prior that all levels are equally likely."""

LEAST = 1e-3
"""Execution probabilities are taken to be so far from 0 and 1 at least, so that no single outcome proves anything."""


class ArmPosteriors:
    """The posterior of theta for each candidate, with a prior learned from all of them.

    Each pull counts as one without reward until its reward comes. The log-likelihood of theta is kept on a few levels,
    because a sum of log(1 - theta e) over different e has no shorter form. The prior is the mean posterior of the
    candidates that were pulled, and of some imagined ones that know nothing: empirical Bayes, a step of
    expectation-maximisation at a time.

    Parameters
    ----------
    candidates
        Number K of candidates.
    optimism
        How many standard deviations are promised on top of the mean.
    """

    def __init__(self, candidates: int, optimism: float) -> None:
        self._optimism = optimism
        self._levels = (np.arange(LEVELS) + 0.5) / LEVELS
        self.mean = np.empty(candidates)
        self.promise = np.empty(candidates)
        self._evidence: Array = np.zeros((candidates, LEVELS))
        self._silent: Array = np.zeros(candidates)
        self._prior: Array = np.full(LEVELS, CROWD / LEVELS)
        self._believe(0, candidates, 0.0, 0.0, 0.0)

    def pull(self, candidate: int, execution: float) -> None:
        """Count a pull, for now as one without reward."""
        self._count(candidate, execution, 1.0, 0.0)

    def reward(self, candidate: int, execution: float, reward: float) -> None:
        """Count a pull as rewarded instead, in part when the reward is between 0 and 1."""
        self._count(candidate, execution, -reward if self._silent[candidate] >= reward else 0.0, reward)

    def forget(self, candidate: int, execution: float) -> None:
        """Take a pull without reward back, if there is any."""
        if self._silent[candidate] >= 1.0:
            self._count(candidate, execution, -1.0, 0.0)

    def means_without(self, candidates: NDArray[np.int64], executions: Array) -> Array:
        """The mean of each of n candidates, had one of its pulls without reward, of this execution probability, not
        been, (n,)."""
        found = np.empty(len(candidates))
        find_means_without(candidates, executions, self._evidence, self._silent, self._prior, self._levels, found)
        return found

    def learn_prior(self) -> None:
        """Let the prior follow what is now believed of the candidates."""
        prior = np.full(LEVELS, CROWD / LEVELS)
        add_beliefs(self._evidence, self._prior, prior)
        self._prior = prior
        self._believe(0, len(self.mean), 0.0, 0.0, 0.0)

    def state(self) -> dict[str, NDArray[Any]]:
        """``evidence`` (K, levels), log-likelihoods; ``silent`` (K,), pulls without reward; ``prior`` (levels,)."""
        return {"evidence": self._evidence.copy(), "silent": self._silent.copy(), "prior": self._prior.copy()}

    def restore(self, state: State) -> None:
        """Continue from a state of as many candidates."""
        self._evidence, self._silent, self._prior = (
            np.array(state[name], dtype=np.float64) for name in ("evidence", "silent", "prior")
        )
        self._believe(0, len(self.mean), 0.0, 0.0, 0.0)

    def _count(self, candidate: int, execution: float, silent: float, rewarded: float) -> None:
        self._believe(candidate, candidate + 1, execution, silent, rewarded)

    def _believe(self, first: int, last: int, execution: float, silent: float, rewarded: float) -> None:
        believe(
            first,
            last,
            execution,
            silent,
            rewarded,
            self._evidence,
            self._silent,
            self._prior,
            self._levels,
            self._optimism,
            self.mean,
            self.promise,
        )


@compiled
def believe(
    first: int,
    last: int,
    execution: float,
    silent: float,
    rewarded: float,
    evidence: Array,
    silences: Array,
    prior: Array,
    levels: Array,
    optimism: float,
    mean: Array,
    promise: Array,
) -> None:
    """Add so many pulls without and with reward to each candidate from ``first`` to before ``last``, and work out its
    ``mean`` and ``promise``, in place. Those of whom nothing is known are alike: one stands for all."""
    e = min(max(execution, LEAST), 1.0 - LEAST)
    unknown = -1
    for k in range(first, last):
        silences[k] += silent
        if not (silent or rewarded or silences[k]) and untold(evidence, k):
            if unknown >= 0:
                mean[k], promise[k] = mean[unknown], promise[unknown]
                continue
            unknown = k
        most = -math.inf
        for g in range(len(levels)):
            if silent or rewarded:
                chance = levels[g] * e
                evidence[k, g] += silent * math.log(1.0 - chance) + rewarded * math.log(chance)
            most = max(most, evidence[k, g])
        # Within the lowest part the mean falls on, so that candidates which never do any good take turns for ever.
        theta = 1.0 / (2.0 * len(levels) + silences[k])
        total, once, twice = 0.0, 0.0, 0.0
        for g in range(len(levels)):
            theta = levels[g] if g else theta
            weight = prior[g] * math.exp(evidence[k, g] - most)
            total += weight
            once += weight * theta
            twice += weight * theta * theta
        centre = once / total
        spread = math.sqrt(max(twice / total - centre * centre, 0.0))
        mean[k], promise[k] = centre, centre + optimism * spread


@compiled
def add_beliefs(evidence: Array, prior: Array, crowd: Array) -> None:
    """Add the posteriors of all candidates that were pulled to ``crowd`` (levels,), in place."""
    weight = np.empty(len(prior))
    for k in range(len(evidence)):
        if untold(evidence, k):
            continue
        most = evidence[k].max()
        total = 0.0
        for g in range(len(prior)):
            weight[g] = prior[g] * math.exp(evidence[k, g] - most)
            total += weight[g]
        for g in range(len(prior)):
            crowd[g] += weight[g] / total


@compiled
def untold(evidence: Array, k: int) -> bool:
    """Whether no outcome has told anything of a candidate."""
    told = False
    for g in range(evidence.shape[1]):
        told = told or evidence[k, g] != 0.0
    return not told


@compiled
def find_means_without(
    candidates: NDArray[np.int64],
    executions: Array,
    evidence: Array,
    silences: Array,
    prior: Array,
    levels: Array,
    found: Array,
) -> None:
    """Put the means that candidates have without one of their pulls without reward each into ``found`` (n,)."""
    logs = np.empty(len(levels))
    for i in range(len(candidates)):
        k, e = candidates[i], min(max(executions[i], LEAST), 1.0 - LEAST)
        most = -math.inf
        for g in range(len(levels)):
            logs[g] = evidence[k, g] - math.log(1.0 - levels[g] * e)
            most = max(most, logs[g])
        theta = 1.0 / (2.0 * len(levels) + max(silences[k] - 1.0, 0.0))
        total, once = 0.0, 0.0
        for g in range(len(levels)):
            theta = levels[g] if g else theta
            weight = prior[g] * math.exp(logs[g] - most)
            total += weight
            once += weight * theta
        found[i] = once / total
