"""Exact recourse for a linear score that may change within an L^p ball."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.contract import Array
from onward.agents.promises.ball import LpBall
from onward.benchmarks.robustness.exact.bounded import BoundedProblems, Node
from onward.benchmarks.robustness.exact.contract import Answers, Rules, Status
from onward.benchmarks.robustness.exact.discrete import SLACK, Branching, root_of


class RobustLinear(BoundedProblems):
    r"""The optimal changes under the worst model within a ball, for every norm $p \ge 1$.

    With $z(x) = w x + b - \alpha \|(x, 1)\|_q$, the worst-case log odds, and the cost $\sum_i c_i |x_i - x_{0i}|$:

    * ``price`` minimises $\log(1 + e^{-z(x)}) + \lambda\,$ cost, the paper's worst-case price;
    * ``least_cost`` minimises the cost where $z(x) \ge \delta$.

    Both are convex, since z is a minimum of linear functions. Bounds, steps and one-hot groups are kept exactly: with
    bounds alone by ``frontier.py``, whose answer is proven by the model that is worst at it; with steps and groups by
    branch and bound on top (``discrete.py``), up to ``most_nodes`` a person, after which ``gap`` says what is left
    open. A person's answer does not depend on the others, to the last bit.

    Parameters
    ----------
    weights, bias
        The linear score's log odds, (D,).
    ball
        The models that it may change to.
    cost
        $c$ (D,), above 0, the cost of a unit of change of each column; 1 by default.
    most_nodes
        The most problems that are solved for a person with steps or groups.

    Examples
    --------
    >>> robust = RobustLinear(np.array([2.0, 1.0]), -2.0, LpBall(0.1, 2))
    >>> anywhere = Rules(np.zeros(2), np.ones(2))
    >>> answers = robust.least_cost(np.array([[0.5, 0.2]]), anywhere, 0.0)
    >>> answers.targets.round(3), answers.cost.round(3), bool(answers.margin[0] >= 0)
    (array([[0.97, 0.2 ]]), array([0.47]), True)
    >>> float(answers.gap[0]) < 1e-9
    True

    References
    ----------
    Kyaw, P., Kayastha, K. and Jabbari, S. (2025). Optimal Robust Recourse with L^p-Bounded Model Change.
    arXiv 2509.21293.
    """

    def __init__(
        self, weights: Array, bias: float, ball: LpBall, cost: Array | None = None, most_nodes: int = 2000
    ) -> None:
        super().__init__(weights, bias, ball, cost)
        self.most_nodes = most_nodes

    def price(self, people: Array, rules: Rules, trade: float) -> Answers:
        """The least worst-case price of n people (n, D), where a unit of cost is worth ``trade`` nats of loss.

        Raises
        ------
        ValueError
            When ``trade`` is not above 0, or people or rules do not fit the score.
        """
        if not 0.0 < trade < math.inf:
            raise ValueError(f"trade is {trade}: give a finite number above 0")
        return self._solve(people, rules, trade, None)

    def least_cost(self, people: Array, rules: Rules, required: Array | float) -> Answers:
        """The least cost of n people (n, D) whose worst-case log odds are to be at least ``required``, (n,) or one.

        Raises
        ------
        ValueError
            When people or rules do not fit the score.
        """
        return self._solve(people, rules, math.nan, np.broadcast_to(required, len(people)).astype(np.float64))

    def _solve(self, people: Array, rules: Rules, trade: float, required: Array | None) -> Answers:
        own = np.array(people, dtype=np.float64, order="C")
        self._check(own, rules)
        lowest, highest = (np.broadcast_to(end, own.shape).astype(np.float64) for end in (rules.lowest, rules.highest))
        status = faults(own, lowest, highest, rules)
        sound = status == Status.FOUND
        count = len(own)
        targets, numbers = own.copy(), np.full((count, 5), math.nan)
        aims = None if required is None else required[sound]
        found = self._relaxed if rules.step is None and not rules.groups else self._branched
        targets[sound], numbers[sound] = found(own[sound], lowest[sound], highest[sound], rules, trade, aims)
        margin, cost, objective, bound, best = numbers.T
        if required is not None:
            status[sound & ~(margin >= required - SLACK)] = Status.OUT_OF_REACH
        status[(status == Status.FOUND) & (targets == own).all(axis=1)] = Status.ENOUGH
        return Answers(targets, status, margin, cost, objective, bound, best)

    def _check(self, own: Array, rules: Rules) -> None:
        """Raise ``ValueError`` where people or rules do not fit the score."""
        columns = len(self.weights)
        if own.ndim != 2 or own.shape[1] != columns:
            raise ValueError(f"people have the shape {own.shape}: give {columns} columns, as the score has")
        if rules.step is not None and (rules.step.shape != (columns,) or not (rules.step >= 0.0).all()):
            raise ValueError(f"step is {rules.step}: give 0 or more for each of the {columns} columns")
        for group in rules.groups:
            if not len(group) or min(group) < 0 or max(group) >= columns:
                raise ValueError(f"the group {group} is not of columns 0 to {columns - 1}")

    def _relaxed(
        self, own: Array, lowest: Array, highest: Array, _: Rules, trade: float, required: Array | None
    ) -> tuple[Array, Array]:
        """The optima with bounds alone: targets (n, D) and the numbers (n, 5) of ``Answers``, from the margin on."""
        node = Node(own, lowest, highest, self.weights[np.newaxis], self.cost[np.newaxis], np.full(len(own), self.bias))
        return self.solve_nodes(node, trade, required)

    def _branched(
        self, own: Array, lowest: Array, highest: Array, rules: Rules, trade: float, required: Array | None
    ) -> tuple[Array, Array]:
        """The optima with steps and one-hot groups, person by person."""
        targets, numbers = own.copy(), np.empty((len(own), 5))
        for i in range(len(own)):
            aim = None if required is None else required[i : i + 1]
            problem = root_of(own[i], lowest[i], highest[i], rules)
            targets[i], numbers[i] = Branching(self, problem, trade, aim).run(self.most_nodes)
        return targets, numbers


def faults(own: Array, lowest: Array, highest: Array, rules: Rules) -> NDArray[np.int8]:
    """What is wrong with each person's problem, (n,); ``Status.FOUND`` where nothing is."""
    status = np.full(len(own), Status.FOUND, dtype=np.int8)
    for group in rules.groups:
        values = own[:, group]
        status[(np.sort(values, axis=1) != np.eye(1, len(group), len(group) - 1)).any(axis=1)] = Status.NOT_ONE_HOT
    free = np.ones(own.shape[1], dtype=np.bool_)
    for group in rules.groups:
        free[group] = False
    status[((own < lowest) | (own > highest))[:, free].any(axis=1)] = Status.OUTSIDE
    status[~(lowest <= highest).all(axis=1)] = Status.CONTRADICTION
    status[~np.isfinite(own).all(axis=1)] = Status.NOT_FINITE
    return status
