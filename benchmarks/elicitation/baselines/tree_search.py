"""MCTS: a search tree over the actions, without a learned policy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onward.benchmarks.elicitation.baselines.moves import Indices, Moves
from onward.benchmarks.elicitation.study import MOST_STEPS, Array

DISCOUNT = 0.97
"""Of the reward, for each action of a plan."""
EXPLORATION = np.sqrt(2.0)


@dataclass
class Node:
    """A state, and what was seen after each of its ``moves`` (k,) and after the stop, which is the last child."""

    state: Array
    moves: Indices
    visits: Array = field(init=False)
    total: Array = field(init=False)
    children: dict[int, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.visits, self.total = np.zeros(len(self.moves) + 1), np.zeros(len(self.moves) + 1)

    def choice(self, random: np.random.Generator) -> int:
        """The child to visit: one that was not yet, else the one with the highest upper confidence bound (UCT)."""
        unseen = np.flatnonzero(self.visits == 0.0)
        if len(unseen):
            return int(random.choice(unseen))
        bonus = EXPLORATION * np.sqrt(np.log(self.visits.sum()) / self.visits)
        return int(np.argmax(self.total / self.visits + bonus))

    @property
    def best(self) -> int:
        """The child with the highest mean reward, the most visited one of several."""
        seen = self.visits > 0.0
        mean = np.where(seen, self.total / np.maximum(self.visits, 1.0), -1.0)
        return int(np.lexsort((self.visits, mean))[-1])


class TreeSearch:
    """Upper confidence bounds applied to trees.

    A plan that the classifier accepts earns ``DISCOUNT`` to the power of its length, any other plan nothing (the reward
    of FARE, section 4.2). From a new node random actions are taken until the classifier accepts the state or no more
    are allowed. After ``simulations`` the best child becomes the root, until it is the stop.

    Parameters
    ----------
    moves
        The actions.
    simulations
        For each action of the plan.
    random
        Draws actions.

    References
    ----------
    Kocsis, L. and Szepesvari, C. (2006). Bandit Based Monte-Carlo Planning. ECML.
    """

    def __init__(self, moves: Moves, simulations: int, random: np.random.Generator) -> None:
        self._moves, self._simulations, self._random = moves, simulations, random

    def plan(self) -> Indices:
        """The actions of a plan, (k,)."""
        root, found = self._node(self._moves.start, 0), list[int]()
        while True:
            for _ in range(self._simulations):
                self._simulate(root, len(found))
            best = root.best
            if best == len(root.moves):
                return np.array(found, np.intp)
            found.append(int(root.moves[best]))
            root = root.children[best]

    def _node(self, state: Array, depth: int) -> Node:
        """A new node; where a plan is as long as it may be only the stop is left."""
        return Node(state, self._moves.open(state) if depth < MOST_STEPS else np.zeros(0, np.intp))

    def _simulate(self, node: Node, depth: int) -> None:
        path: list[tuple[Node, int]] = []
        while True:
            child = node.choice(self._random)
            path.append((node, child))
            if child == len(node.moves):
                reward = self._reward(node.state, depth)
                break
            depth += 1
            if child not in node.children:
                after = self._moves.after(node.state[np.newaxis], node.moves[[child]])[0]
                node.children[child] = self._node(after, depth)
                reward = self._played_out(node.children[child], depth)
                break
            node = node.children[child]
        for visited, child in path:
            visited.visits[child] += 1.0
            visited.total[child] += reward

    def _reward(self, state: Array, depth: int) -> float:
        accepted = depth > 0 and self._moves.log_odds(state[np.newaxis])[0] > 0.0
        return float(DISCOUNT**depth) if accepted else 0.0

    def _played_out(self, node: Node, depth: int) -> float:
        state, moves = node.state, node.moves
        while not (reward := self._reward(state, depth)) and depth < MOST_STEPS and len(moves):
            state = self._moves.after(state[np.newaxis], self._random.choice(moves, 1))[0]
            moves, depth = self._moves.open(state), depth + 1
        return reward
