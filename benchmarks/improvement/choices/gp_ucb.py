"""GP-UCB: optimism with a Gaussian process that predicts the reward of a pair of person and change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import registry
from onward.agents.choices.components.pull_buffer import PullBuffer, pairs_of
from onward.agents.choices.contract import Array, Choice, Pick, Pull, State
from onward.agents.options import Options
from onward.agents.parameters import Interval
from onward.benchmarks.improvement.choices.gaussian_process import factorise, predict

PRIOR_MEAN = 0.5
"""Prior mean of a reward of 0 or 1."""


@registry.add
class GPUCB(Choice):
    r"""Contextual Gaussian process bandit with delayed feedback. A baseline of the literature.

    The execution probability is not used: the expected reward is a function of the person $x$ and the change $a$, drawn
    from a Gaussian process with a product of two radial kernels,

    $$k = \exp\left(-\frac{|x - x'|^2}{2 \ell^2}\right) \exp\left(-\frac{|a - a'|^2}{2 \ell^2}\right)$$

    A pull counts as a failure until it is rewarded. In step $t$, counted from 0, it takes the option with the largest

    $$\mu(x, a) + \sqrt{\frac{\log(t + 1)}{t + 1}} \, \sigma(x, a)$$

    with the process's mean and standard deviation conditioned on the n remembered pulls. While none of them is a
    success it draws an option. The inverse Cholesky factor of the pulls' covariance grows by one row a pull, so a step
    takes O(n^2 F) for F options, not O(n^3). It is still the slowest choice, and serves as a comparison.

    Parameters
    ----------
    points
        The arms, shape (K, D).
    window
        Number m of steps; not used, since a reward counts as long as its pull is in ``memory``.
    reach
        The length scale $\ell$ of people and changes.
    noise
        Variance of a reward around its expectation.
    memory
        The most pulls that are remembered; when it is full, the older half goes.

    Examples
    --------
    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> gp = GPUCB(points, window=10)
    >>> options = Options(np.array([0.5]), both, points, both, execution=np.ones(2))
    >>> for step in range(20):
    ...     pick = gp.choose(options, lambda: np.random.default_rng(step))
    ...     gp.update(Pull(step, pick.arm, pick.execution), reward=float(pick.arm == 1))
    >>> gp.choose(options, np.random.default_rng)
    Pick(arm=1, propensity=1.0, execution=1.0)

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
    variable_length: ClassVar[frozenset[str]] = PullBuffer.ARRAYS
    of_arms_alone: ClassVar[frozenset[str]] = PullBuffer.OF_ARMS_ALONE
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"memory"})

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
        self._rows = PullBuffer(points, self.memory)
        self._inverse = np.zeros((self.memory, self.memory))
        self._order = np.empty(0, dtype=np.intp)

    def begin(self, options: Options, random: Callable[[], np.random.Generator]) -> None:
        """Count the step."""
        self._t += 1

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick the option with the largest upper confidence bound, and count the pull as a failure."""
        t, count = self._t - 1, len(options.arm)
        pairs = pairs_of(options.person, options.targets)
        if self._rows.successes:
            mean, deviation = self._predict(pairs)
            bound = mean + math.sqrt(math.log(t + 1) / (t + 1)) * deviation
            best, propensity = int(bound.argmax()), 1.0
        else:
            best, propensity = int(random().integers(count)), 1.0 / count
        self._make_room()
        self._rows.append(t, options.arm.item(best), pairs[best])
        return Pick(options.arm.item(best), propensity, options.execution.item(best))

    def update(self, pull: Pull, reward: float) -> None:
        """Label the pull's row with its reward."""
        slot = self._rows.slot(pull.step, pull.arm)
        if slot is not None:
            self._rows.reward(slot, reward)

    def retract(self, pull: Pull) -> None:
        """Take the pull's row out."""
        slot = self._rows.slot(pull.step, pull.arm)
        if slot is not None:
            self._rows.drop(slot)
            self._order = self._order[self._order < slot]

    def state(self) -> dict[str, NDArray[Any]]:
        """The rows, and the steps ``t`` (). The inverse factor is derived from the rows."""
        return {"t": np.array(self._t, dtype=np.int64), **self._rows.state()}

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood."""
        self.check_state(state)
        self._rows.check(state)
        self._t = int(state["t"])
        self._rows.restore(state)
        self._order = self._order[:0]

    def _predict(self, pairs: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the reward of each option (F, 2 D), (F,) each."""
        self._factorise()
        rows = self._order
        labels = self._rows.rewards[rows] - PRIOR_MEAN
        mean, variance = predict(self._inverse, self._rows.pairs[rows], labels, pairs, self.reach)
        return PRIOR_MEAN + mean, np.sqrt(np.maximum(variance, 0.0))

    def _factorise(self) -> None:
        """Update the inverse W of the Cholesky factor row by row, so that W covariance W' is the identity.

        Each row depends on the rows above it only, so a restored learner has the same factor to the last bit.
        """
        order = np.flatnonzero(self._rows.active)
        factorise(len(self._order), self._rows.pairs[order], self.reach, self.noise, self._inverse)
        self._order = order

    def _make_room(self) -> None:
        if len(self._rows) == self.memory:
            state, kept = self._rows.state(), self.memory // 2
            appended = int(state["appended"])
            newest = np.arange(appended - kept, appended) % self.memory
            arrays = {name: state[name][newest] for name in PullBuffer.ARRAYS}
            self._rows.restore({**arrays, "appended": np.array(kept)})
            self._order = self._order[:0]
