"""GP-UCB: optimism with a Gaussian process that guesses the reward of a pair of person and change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .components.gaussian_process import factorise, predict
from .components.pull_buffer import Rows, pairs_of
from .contract import Array, Choice, Pick, Pull, State
from .interval import Interval

PRIOR_MEAN = 0.5
"""What a reward of 0 or 1 is before anything is known."""


class GPUCB(Choice):
    r"""Contextual Gaussian process bandit with delayed feedback.

    Nothing is known of how hard a change is for whom: the expected reward is a function of the person $x$ and the
    change $a$, drawn from a Gaussian process with a product of two radial kernels,

    $$k = \exp\left(-\frac{|x - x'|^2}{2 \ell^2}\right) \exp\left(-\frac{|a - a'|^2}{2 \ell^2}\right)$$

    What is still under way, and what was never heard of again, counts as a failure until a reward says otherwise. In
    step $t$, counted from 0, it takes the feasible candidate with the largest

    $$\mu(x, a) + \sqrt{\frac{\log(t + 1)}{t + 1}} \, \sigma(x, a)$$

    with the process's mean and standard deviation given the n picks it remembers; while no success is among them it
    draws a candidate. The inverse Cholesky factor of the picks' covariance grows by a row a pick, so a step takes
    O(n^2 F) for F feasible candidates, not O(n^3). It is still the slow one: it stands here to be compared with.

    Parameters
    ----------
    points
        The candidates, shape (K, D).
    window
        Number m of steps that rewards are waited for; rewards of any step that is still remembered count.
    reach
        $\ell$, how far apart two people, or two changes, still tell of one another.
    noise
        Variance of a reward around its expectation.
    memory
        How many picks are remembered; when there are so many, the older half goes.

    Examples
    --------
    >>> gp = GPUCB(np.array([[0.9], [0.1]]), window=10)
    >>> person, feasible, unknown = np.array([0.5]), np.array([0, 1]), np.ones(2)
    >>> for step in range(20):
    ...     pick = gp.choose(person, feasible, unknown, lambda: np.random.default_rng(step))
    ...     gp.update(Pull(step, pick.candidate, pick.execution), reward=float(pick.candidate == 1))
    >>> gp.choose(person, feasible, unknown, np.random.default_rng)
    Pick(candidate=1, propensity=1.0, execution=1.0)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Krause, A. and Ong, C. S. (2011). Contextual Gaussian Process Bandit Optimization. NeurIPS.
    Verma, A., Dai, Z. and Low, B. K. H. (2022). Bayesian Optimization under Stochastic Delayed Feedback. ICML.
    """

    name: ClassVar[str] = "gp_ucb"
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    variable_length: ClassVar[frozenset[str]] = Rows.ARRAYS

    def __init__(
        self,
        points: Array,
        window: int,
        reach: Annotated[float, Interval(above=1e-3, below=1e3)] = 1.0,
        noise: Annotated[float, Interval(above=1e-4, below=1e6)] = 0.25,
        memory: Annotated[float, Interval(above=1, below=4000)] = 1000,
    ) -> None:
        super().__init__(points, window, reach=reach, noise=noise, memory=memory)
        self.reach, self.noise, self.memory = reach, noise, math.ceil(memory)
        self._t = 0
        self._rows = Rows(points, self.memory)
        self._inverse = np.zeros((self.memory, self.memory))
        self._order = np.empty(0, dtype=np.intp)

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
        if self._rows.successes:
            mean, deviation = self._predict(person, feasible)
            bound = mean + math.sqrt(math.log(t + 1) / (t + 1)) * deviation
            best, propensity = int(bound.argmax()), 1.0
        else:
            best, propensity = int(random().integers(len(feasible))), 1.0 / len(feasible)
        k = feasible.item(best)
        self._make_room()
        self._rows.append(t, person, k)
        return Pick(k, propensity, execution.item(best))

    def update(self, pull: Pull, reward: float) -> None:
        """Label the pick's row with its reward."""
        slot = self._rows.slot(pull.step, pull.candidate)
        if slot is not None:
            self._rows.reward(slot, reward)

    def forget(self, pull: Pull) -> None:
        """Take the pick's row out."""
        slot = self._rows.slot(pull.step, pull.candidate)
        if slot is not None:
            self._rows.drop(slot)
            self._order = self._order[self._order < slot]

    def state(self) -> dict[str, NDArray[Any]]:
        """The rows, and the steps ``t`` (). What follows from the rows is worked out again."""
        return {"t": np.array(self._t, dtype=np.int64), **self._rows.state()}

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood."""
        self.check_state(state)
        self._rows.check(state)
        self._t = int(state["t"])
        self._rows.restore(state)
        self._order = self._order[:0]

    def _predict(self, person: Array, feasible: NDArray[np.intp]) -> tuple[Array, Array]:
        """Mean and standard deviation of the reward of each feasible candidate, (F,) each."""
        self._factorise()
        rows, asked = self._order, pairs_of(person, self.points[feasible])
        labels = self._rows.rewards[rows] - PRIOR_MEAN
        mean, variance = predict(self._inverse, self._rows.pairs[rows], labels, asked, self.reach)
        return PRIOR_MEAN + mean, np.sqrt(np.maximum(variance, 0.0))

    def _factorise(self) -> None:
        """Bring the inverse W of the Cholesky factor up to date, row by row, so that W covariance W' is the identity.

        A row follows from those above it, so what a state brings back is the same to the last bit.
        """
        order = np.flatnonzero(self._rows.kept)
        factorise(len(self._order), self._rows.pairs[order], self.reach, self.noise, self._inverse)
        self._order = order

    def _make_room(self) -> None:
        if len(self._rows) == self.memory:
            self._rows.shed(self.memory // 2)
            self._order = self._order[:0]
