"""Factored: the posterior of each candidate times what a change is worth, all learned from outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .components.arm_posteriors import ArmPosteriors
from .components.change_weights import ChangeWeights
from .components.execution_kernels import most_promising
from .components.pending_pulls import PendingPulls
from .contract import Array, Choice, Pick, Pull, State
from .interval import Interval

RENEWAL = 10
"""The prior is learned anew every so many steps."""

TOGETHER, APART = 0.1, 0.5
"""Variance of the weights around their mean, relative to its square: what they have in common, and each of its own."""

NO_NOISE, NO_TRUST = 0.0, 0.0
"""Execution probabilities that are given are not heard."""


class Factored(Choice):
    r"""A posterior per candidate and a weight per feature: execution probabilities are not used but learned.

    A suggestion that changes a person by $\Delta$ is taken to be rewarded with probability
    $\theta_k \exp(-w\,|\Delta|)$. With the weights $w$ that are known, each candidate's $\theta_k$ has a posterior as
    in ``Posterior``, and the step takes the largest $\exp(-w |\Delta|)^p (\mu_k + c\, \sigma_k)$. Each pull tells of
    the weights once it is rewarded or m steps are over, then for now as a failure: its score under the probability that
    was expected of it goes into a ridge regression around $w_d = 1/D$. A later reward makes a success of it.

    Parameters
    ----------
    points
        The K candidates, shape (K, D).
    window
        Number m of steps after which a pull without news counts as a failure for the weights, until news comes.
    optimism
        $c$, above 0.
    focus
        $p$, above 0.
    memory
        Of how many pulls whose fate is not known the changes are kept. While there are so many, new pulls tell nothing
        of the weights.

    Examples
    --------
    >>> factored = Factored(np.array([[0.9], [0.1]]), window=10)
    >>> person, feasible, execution = np.array([0.7]), np.array([0, 1]), np.array([0.1, 0.9])

    The first candidate is nearer; what is said of the execution probabilities is not heard.

    >>> factored.choose(person, feasible, execution, np.random.default_rng).candidate
    0
    >>> factored.update(Pull(step=0, candidate=0, execution=0.82), reward=1.0)
    >>> factored.choose(person, feasible, execution, np.random.default_rng).candidate
    0

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    The problem, that of BwO-UCB; ``docs/factored.md`` numbers the differences.
    """

    name: ClassVar[str] = "factored"
    learns: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    variable_length: ClassVar[frozenset[str]] = PendingPulls.ARRAYS

    def __init__(
        self,
        points: Array,
        window: int,
        optimism: Annotated[float, Interval(above=0, below=1000)] = 0.8,
        focus: Annotated[float, Interval(above=0, below=100)] = 3.5,
        memory: Annotated[float, Interval(above=0, below=10_001)] = 1000,
    ) -> None:
        super().__init__(points, window, optimism=optimism, focus=focus, memory=memory)
        columns = points.shape[1]
        self.optimism = optimism
        self.focus = focus
        self._t = 0
        self._beliefs = ArmPosteriors(self.candidates, optimism)
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        self._efforts = ChangeWeights(np.full(columns, 1.0 / max(columns, 1)), _precision(columns))
        self._silences = PendingPulls(self._efforts, self.candidates, window, math.ceil(memory))

    def choose(
        self,
        person: Array,
        feasible: NDArray[np.intp],
        execution: Array,
        random: Callable[[], np.random.Generator],  # noqa: ARG002 -- nothing is drawn
    ) -> Pick | None:
        """Pick the most promising feasible candidate, and count the pick as a pull without reward."""
        t = self._t
        self._t = t + 1
        self._silences.pass_to(t)
        if t % RENEWAL == RENEWAL - 1:
            self._beliefs.learn_prior()
            self._silences.judge_anew(self._beliefs, self._t)
        if not len(feasible):
            return None
        weights, promise = self._efforts.weights, self._beliefs.promise
        at, e = most_promising(
            person, self._points, feasible, execution, weights, NO_NOISE, NO_TRUST, promise, self.focus
        )
        k = feasible.item(at)
        self._silences.begin(t, k, np.abs(self._points[k] - person), self._beliefs.mean.item(k), e)
        self._beliefs.pull(k, e)
        return Pick(k, 1.0, e)

    def update(self, pull: Pull, reward: float) -> None:
        """Count a pull as rewarded, in part when the reward is below 1, and learn what it tells of the weights."""
        if reward:
            self._beliefs.reward(pull.candidate, pull.execution, reward)
        self._silences.reward(pull, reward, self._t)

    def forget(self, pull: Pull) -> None:
        """Take a pull back."""
        self._beliefs.forget(pull.candidate, pull.execution)
        self._silences.forget(pull, self._t)

    def state(self) -> dict[str, NDArray[Any]]:
        """``t`` (); what is believed (``evidence``, ``silent``, ``prior``) and known of the weights (``information``,
        ``target``); and of the n pulls whose fate is not known, by step, ``steps``, ``picked``, ``executions``,
        ``odds``, ``efforts`` (n,) and ``changes`` (n, D)."""
        return {
            "t": np.array(self._t, dtype=np.int64),
            **self._beliefs.state(),
            **self._efforts.state(),
            **self._silences.state(),
        }

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same candidates and parameters stood."""
        self.check_state(state)
        self._silences.check(state, int(state["t"]))
        self._t = int(state["t"])
        self._beliefs.restore(state)
        self._efforts.restore(state)
        self._silences.restore(state)


def _precision(columns: int) -> Array:
    """The inverse of the weights' covariance, (TOGETHER + APART on the diagonal) / D^2."""
    shared = TOGETHER / (APART + TOGETHER * columns)
    precision: Array = columns**2 / APART * (np.eye(columns) - shared)
    return precision
