"""CSCF: sequences of actions by a genetic algorithm with random keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onward.benchmarks.elicitation.baselines.moves import Indices, Mask, Moves
from onward.benchmarks.elicitation.study import MOST_STEPS, Array

POPULATION, GENERATIONS = 50, 25
ELITES, MUTANTS, BIAS = 0.2, 0.2, 0.7
"""Shares of the population, and how likely a gene is the elite parent's."""
ACTIVE = 0.5
"""A feature is changed where its key is below this."""


class Sequences(NamedTuple):
    """n sequences: their actions in order (n, K), -1 for none, their costs and distances (n,), and which are valid."""

    moves: Indices
    cost: Array
    distance: Array
    valid: Mask


class SequentialCounterfactuals:
    """Consequence-aware sequential counterfactuals.

    A genome holds two random keys for each feature that can change: whether and in which order it does, and to which
    argument. It is decoded to a sequence of at most five actions, one a feature, each priced in the state before it.
    Sequences that the classifier rejects, or of which an action is not allowed, come after all valid ones. Valid ones
    are ranked by how many others dominate them in cost and Gower's distance, the two objectives of the version that
    PEAR is compared with. The next generation are the best, some offspring, of which each gene is more likely that of
    the better parent, and some random genomes. The cheapest valid sequence is recommended.

    Parameters
    ----------
    moves
        The actions.
    weights
        (P,), what actions are expected to cost.
    random
        Draws genomes.

    References
    ----------
    Naumann, P. and Ntoutsi, E. (2021). Consequence-Aware Sequential Counterfactual Generation. ECML PKDD.
    """

    def __init__(self, moves: Moves, weights: Array, random: np.random.Generator) -> None:
        self._moves, self._weights, self._random = moves, weights, random
        self._of_feature = [np.flatnonzero(moves.feature == m) for m in range(len(moves.start))]

    def plan(self) -> Indices:
        """The actions of the cheapest valid sequence (k,); none where no valid one was found."""
        genomes = self._random.random((POPULATION, 2 * len(self._of_feature)))
        for _ in range(GENERATIONS):
            genomes = self._next(genomes[ranking(self.decoded(genomes))])
        found = self.decoded(genomes)
        if not found.valid.any():
            return np.zeros(0, np.intp)
        best = found.moves[int(np.argmin(np.where(found.valid, found.cost, np.inf)))]
        return np.asarray(best[best >= 0])

    def decoded(self, genomes: Array) -> Sequences:
        """The sequences of genomes (n, 2 M)."""
        count, features = len(genomes), len(self._of_feature)
        keys, place = genomes[:, :features], genomes[:, features:]
        order, rows = np.argsort(keys, axis=1, kind="stable"), np.arange(count)
        sizes = np.array([len(own) for own in self._of_feature])
        first = np.cumsum(sizes) - sizes
        moves = np.full((count, MOST_STEPS), -1, np.intp)
        states = np.repeat(self._moves.start[np.newaxis], count, axis=0)
        cost, legal = np.zeros(count), np.ones(count, np.bool_)
        for step in range(min(MOST_STEPS, features)):
            m = order[:, step]
            taken = np.flatnonzero(keys[rows, m] < ACTIVE)
            chosen = first[m[taken]] + (place[taken, m[taken]] * sizes[m[taken]]).astype(np.intp)
            moves[taken, step] = chosen
            legal[taken] &= self._moves.allowed(states[taken], chosen)
            cost[taken] += self._moves.cost(states[taken], chosen, self._weights)
            states[taken] = self._moves.after(states[taken], chosen)
        valid = legal & (moves[:, 0] >= 0) & (self._moves.log_odds(states) > 0.0)
        return Sequences(moves, cost, self._moves.distance(states), valid)

    def _next(self, ranked: Array) -> Array:
        """The next generation of genomes, the best first."""
        elites, mutants = round(ELITES * POPULATION), round(MUTANTS * POPULATION)
        children = POPULATION - elites - mutants
        better = ranked[self._random.integers(elites, size=children)]
        other = ranked[self._random.integers(elites, POPULATION, size=children)]
        offspring = np.where(self._random.random(better.shape) < BIAS, better, other)
        return np.concatenate([ranked[:elites], offspring, self._random.random((mutants, ranked.shape[1]))])


def ranking(found: Sequences) -> Indices:
    """The order of sequences, valid ones that few dominate first, then the others; repeats come last."""
    dominated = np.zeros(len(found.cost), np.intp)
    for number in np.flatnonzero(found.valid):
        as_good = (found.cost <= found.cost[number]) & (found.distance <= found.distance[number]) & found.valid
        better = as_good & ((found.cost < found.cost[number]) | (found.distance < found.distance[number]))
        dominated[number] = better.sum()
    _, first = np.unique(found.moves, axis=0, return_index=True)
    is_repeat = np.ones(len(found.cost), np.bool_)
    is_repeat[first] = False
    return np.lexsort((found.cost, dominated, ~found.valid, is_repeat))
