"""BwO-UCB: optimism with a forest that guesses the reward of a pair of person and change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .components.pull_buffer import Rows, pairs_of
from .components.regression_forest import Forest
from .contract import Array, Choice, Pick, Pull, State
from .interval import Interval

SETTLED_SHARE = 10
"""While there are few rows, a tree is grown anew when they have become a tenth more."""


class BwOUCB(Choice):
    r"""Contextual Bayesian optimisation with a forest of bagged, extremely randomised trees.

    Nothing is known of how hard a change is for whom: the expected reward is a function of the person $x$ and the
    change $a$, and the forest learns it. What is still under way, and what was never heard of again, counts as a
    failure until a reward says otherwise. In step $t$, counted from 0, it takes the feasible candidate with the largest

    $$\mu(x, a) + \sqrt{\frac{\log(t + 1)}{t + 1}} \, \sigma(x, a)$$

    with the mean and the standard deviation of the mixture of the leaves that $(x, a)$ lies in, one a tree:

    $$\mu = \frac{1}{B} \sum_b \mu_b, \qquad \sigma^2 = \frac{1}{B} \sum_b (\sigma_b^2 + \mu_b^2) - \mu^2$$

    While nothing is promising (no success among the rows, or no bound above 0) it draws a candidate: nothing is tried
    for ever only because it stands first.

    The forest is kept, not fitted anew. A pick enters the leaves it lies in at once, a reward changes them, and a few
    trees are grown anew in every step, each at the latest after ``refresh`` steps. So the cost of a step does not
    depend on how many there were.

    Parameters
    ----------
    points
        The candidates, shape (K, D).
    window
        Number m of steps that rewards are waited for; rewards of any step that is still remembered count.
    trees
        B, the number of trees.
    bag
        The size of a tree's bag, drawn with replacement, as a share of the rows.
    memory
        How many picks are remembered; the oldest goes when another comes.
    refresh
        After how many steps a tree is grown anew at the latest; 1 is a forest fitted anew in every step.

    Examples
    --------
    >>> bwo = BwOUCB(np.array([[0.9], [0.1]]), window=10)
    >>> person, feasible, unknown = np.array([0.5]), np.array([0, 1]), np.ones(2)
    >>> for step in range(100):
    ...     pick = bwo.choose(person, feasible, unknown, lambda: np.random.default_rng(step))
    ...     bwo.update(Pull(step, pick.candidate, pick.execution), reward=float(pick.candidate == 1))
    >>> bwo.choose(person, feasible, unknown, np.random.default_rng)
    Pick(candidate=1, propensity=1.0, execution=1.0)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Algorithm 2.
    Kim, J. and Choi, S. (2022). On Uncertainty Estimation by Tree-based Surrogate Models in Sequential Model-based
    Optimization. AISTATS.
    """

    name: ClassVar[str] = "bwo_ucb"
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True
    variable_length: ClassVar[frozenset[str]] = Rows.ARRAYS | Forest.ARRAYS

    def __init__(
        self,
        points: Array,
        window: int,
        trees: Annotated[float, Interval(above=0, below=200)] = 50,
        bag: Annotated[float, Interval(above=0, below=4)] = 0.25,
        memory: Annotated[float, Interval(above=0, below=10_001)] = 1000,
        refresh: Annotated[float, Interval(above=0, below=100_000)] = 25,
    ) -> None:
        super().__init__(points, window, trees=trees, bag=bag, memory=memory, refresh=refresh)
        self.trees, self.bag = math.ceil(trees), bag
        self.memory, self.refresh = math.ceil(memory), math.ceil(refresh)
        self._t = 0
        self._next = 0
        self._rows = Rows(points, self.memory)
        self._forest = Forest(self.trees, self.memory, bag)

    def choose(
        self,
        person: Array,
        feasible: NDArray[np.intp],
        execution: Array,
        random: Callable[[], np.random.Generator],
    ) -> Pick | None:
        """Pick the feasible candidate with the largest upper confidence bound, and count the pick as a failure."""
        t = self._t
        self._t = t + 1
        if not len(feasible):
            return None
        generator = random()
        self._tend(generator)
        best, propensity = self._best(t, person, feasible, generator)
        k = feasible.item(best)
        self._drop(self._rows.next_slot)
        slot = self._rows.append(t, person, k)
        self._forest.add(slot, self._rows.pairs[slot], generator)
        return Pick(k, propensity, execution.item(best))

    def update(self, pull: Pull, reward: float) -> None:
        """Label the pick's row with its reward."""
        slot = self._rows.slot(pull.step, pull.candidate)
        if slot is not None:
            self._forest.relabel(slot, self._rows.pairs[slot], self._rows.rewards.item(slot), reward)
            self._rows.reward(slot, reward)

    def forget(self, pull: Pull) -> None:
        """Take the pick's row out."""
        slot = self._rows.slot(pull.step, pull.candidate)
        if slot is not None:
            self._drop(slot)

    def state(self) -> dict[str, NDArray[Any]]:
        """The rows, the forest, the steps ``t`` and the ``next`` tree to be grown anew."""
        counts = {"t": np.array(self._t, dtype=np.int64), "next": np.array(self._next, dtype=np.int64)}
        return {**counts, **self._rows.state(), **self._forest.state(len(self._rows))}

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood."""
        self.check_state(state)
        self._rows.check(state)
        self._forest.check(state)
        self._t, self._next = int(state["t"]), int(state["next"])
        self._rows.restore(state)
        self._forest.restore(state)

    def _best(
        self, t: int, person: Array, feasible: NDArray[np.intp], generator: np.random.Generator
    ) -> tuple[int, float]:
        """The place of the pick among the feasible, and its probability."""
        if self._rows.successes:
            mean, deviation = self._forest.score(pairs_of(person, self.points[feasible]))
            bound = mean + math.sqrt(math.log(t + 1) / (t + 1)) * deviation
            best = int(bound.argmax())
            if bound[best] > 0:
                return best, 1.0
        return int(generator.integers(len(feasible))), 1.0 / len(feasible)

    def _tend(self, generator: np.random.Generator) -> None:
        """Grow the trees anew whose turn it is."""
        rows = len(self._rows)
        if not rows:
            return
        period = max(1, min(self.refresh, rows // SETTLED_SHARE))
        for _ in range(math.ceil(self.trees / period)):
            self._forest.regrow(self._next, self._rows, generator)
            self._next = (self._next + 1) % self.trees

    def _drop(self, slot: int) -> None:
        if slot < len(self._rows) and self._rows.kept[slot]:
            self._forest.remove(slot, self._rows.pairs[slot], self._rows.rewards.item(slot))
            self._rows.drop(slot)
