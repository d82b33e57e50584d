"""BwO-UCB: optimism with a forest that predicts the reward of a pair of person and change."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..options import Options
from ..parameters import Interval
from .components.pull_buffer import PullBuffer, pairs_of
from .components.regression_forest import OnlineForest
from .contract import Array, Choice, Pick, Pull, Random, State

GROWTH = 10
"""While there are few rows, each tree is regrown at least every time that the rows have increased by a tenth."""


class BwOUCB(Choice):
    r"""Contextual Bayesian optimisation with a forest of bagged, extremely randomised trees. A baseline of the
    literature.

    The execution probability is not used: the expected reward is a function of the person $x$ and the change $a$, which
    the forest learns. A pull counts as a failure until it is rewarded. In step $t$, counted from 0, it takes the option
    with the largest

    $$\mu(x, a) + \sqrt{\frac{\log(t + 1)}{t + 1}} \, \sigma(x, a)$$

    with the mean and the standard deviation of the mixture of the leaves that contain $(x, a)$, one a tree:

    $$\mu = \frac{1}{B} \sum_b \mu_b, \qquad \sigma^2 = \frac{1}{B} \sum_b (\sigma_b^2 + \mu_b^2) - \mu^2$$

    While no row is a success, or no bound is above 0, it draws an option, so that the first one has no advantage.

    The forest is updated, not refitted. A pull enters its leaves at once, a reward changes them, and a few trees are
    regrown in every step, each at the latest after ``refresh`` steps. So the cost of a step does not depend on the
    number of earlier steps.

    Parameters
    ----------
    window
        Number m of steps; not used, since a reward counts as long as its pull is in ``memory``.
    trees
        B, the number of trees.
    bag
        The size of a tree's bag, drawn with replacement, as a share of the rows.
    memory
        The number of pulls that are remembered; a new one replaces the oldest.
    refresh
        The most steps between two growths of a tree; 1 refits the forest in every step.

    Examples
    --------
    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> bwo = BwOUCB(points, window=10)
    >>> options = Options(np.array([0.5]), both, points, both, execution=np.ones(2))
    >>> for step in range(100):
    ...     pick = bwo.choose(options, lambda: np.random.default_rng(step))
    ...     bwo.update(Pull(step, pick.arm, pick.execution), reward=float(pick.arm == 1))
    >>> bwo.choose(options, np.random.default_rng)
    Pick(arm=1, propensity=1.0, execution=1.0)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Algorithm 2.
    Kim, J. and Choi, S. (2022). On Uncertainty Estimation by Tree-based Surrogate Models in Sequential Model-based
    Optimization. AISTATS.
    """

    name: ClassVar[str] = "bwo_ucb"
    reads_outlook: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True
    variable_length: ClassVar[frozenset[str]] = PullBuffer.ARRAYS | OnlineForest.ARRAYS
    of_arms_alone: ClassVar[frozenset[str]] = PullBuffer.OF_ARMS_ALONE
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"trees", "bag", "memory"})

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
        self._rows = PullBuffer(points, self.memory)
        self._forest = OnlineForest(self.trees, self.memory, bag)

    def begin(self, options: Options, random: Random) -> None:
        """Regrow the next trees, where there are options."""
        self._t += 1
        if len(options.arm):
            self._regrow(random())

    def worth(self, options: Options, random: Random) -> Array:
        """The upper confidence bounds; all the same where none is above 0, as before any reward."""
        bound = self._bounds(self._t - 1, pairs_of(options.person, options.targets))
        return np.ones(options.number) if bound is None else np.maximum(bound, 0.0)

    def pick(self, options: Options, random: Random) -> Pick:
        """Pick the option with the largest upper confidence bound, and count the pull as a failure."""
        t, generator = self._t - 1, random()
        pairs = pairs_of(options.person, options.targets)
        best, propensity = self._best(t, pairs, generator)
        self._drop(self._rows.next_slot)
        slot = self._rows.append(t, options.arm.item(best), pairs[best])
        self._forest.add(slot, pairs[best], generator)
        return Pick(options.arm.item(best), propensity, options.execution.item(best))

    def update(self, pull: Pull, reward: float) -> None:
        """Label the pull's row with its reward."""
        slot = self._rows.slot(pull.step, pull.arm)
        if slot is not None:
            self._forest.relabel(slot, self._rows.pairs[slot], self._rows.rewards.item(slot), reward)
            self._rows.reward(slot, reward)

    def retract(self, pull: Pull) -> None:
        """Take the pull's row out."""
        slot = self._rows.slot(pull.step, pull.arm)
        if slot is not None:
            self._drop(slot)

    def state(self) -> dict[str, NDArray[Any]]:
        """The rows, the forest, the steps ``t`` and the ``next`` tree to be regrown."""
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

    def _best(self, t: int, pairs: Array, generator: np.random.Generator) -> tuple[int, float]:
        """The place of the pick among the options (F, 2 D), and its probability."""
        bound = self._bounds(t, pairs)
        if bound is not None:
            return int(bound.argmax()), 1.0
        return int(generator.integers(len(pairs))), 1.0 / len(pairs)

    def _bounds(self, t: int, pairs: Array) -> Array | None:
        """The upper confidence bounds of options (F, 2 D), (F,); None where none is above 0."""
        if not self._rows.successes:
            return None
        mean, deviation = self._forest.score(pairs)
        bound: Array = mean + math.sqrt(math.log(t + 1) / (t + 1)) * deviation
        return bound if bound.max() > 0 else None

    def _regrow(self, generator: np.random.Generator) -> None:
        """Regrow the next trees in rotation."""
        rows = len(self._rows)
        if not rows:
            return
        period = max(1, min(self.refresh, rows // GROWTH))
        for _ in range(math.ceil(self.trees / period)):
            self._forest.regrow(self._next, self._rows, generator)
            self._next = (self._next + 1) % self.trees

    def _drop(self, slot: int) -> None:
        if slot < len(self._rows) and self._rows.active[slot]:
            self._forest.remove(slot, self._rows.pairs[slot], self._rows.rewards.item(slot))
            self._rows.drop(slot)
