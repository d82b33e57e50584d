"""Factored: a posterior per arm times the execution probability of the change, both learned from outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..options import Options
from ..parameters import Interval
from .components.arm_posteriors import ArmPosteriors
from .components.change_weights import ChangeWeights
from .components.execution_kernels import best_option
from .components.pending_pulls import PendingPulls
from .contract import Array, Choice, Pick, Pull, State

PRIOR_PERIOD = 10
"""The prior is updated, and assumed failures are re-weighted, every 10th step."""

SHARED_VARIANCE, OWN_VARIANCE = 0.1, 0.5
"""Prior variances of the weights, in units of the squared prior mean.

They are of the shared term and of each weight's own term."""

NO_NOISE, NO_RESIDUAL_WEIGHT = 0.0, 0.0
"""Observed execution probabilities are ignored."""


class Factored(Choice):
    r"""A posterior per arm and a weight per feature: execution probabilities are not used but learned.

    The model: a suggestion that changes a person by $\Delta$ is rewarded with probability
    $\theta_k \exp(-w\,|\Delta|)$. Under the current weights $w$, each arm's $\theta_k$ has a posterior as in
    ``Posterior``, and the step takes the option with the largest $\exp(-w |\Delta|)^p (\mu_k + c\, \sigma_k)$, the
    first of equals.

    The weights $w$ are learned by ridge regression with prior mean $1/D$; none is below 0. Let $\eta = w\,|\Delta|$ at
    the pick, $q = \mu_k e^{-\eta}$ (at most 0.98) the expected reward and $o = q/(1-q)$. A resolved pull adds
    $o\,|\Delta||\Delta|^\top$ to the information and $(s + o\,\eta)\,|\Delta|$ to the target, with $s = o$ for a
    failure and $s = -1$ for a success. A pull without a reward counts as a failure after m steps; a later reward
    replaces that contribution. Every tenth step, $\eta$ and $o$ of these failures are computed again.

    Parameters
    ----------
    points
        The K arms, shape (K, D).
    window
        Number m of steps after which a pull without a reward is assumed to have failed.
    optimism
        Number $c$ of posterior standard deviations added to the mean.
    focus
        Exponent $p$ of the execution probability; a larger one favours options that are easy to carry out.
    memory
        The most pulls of unknown outcome whose changes are kept. While the buffer is full, new pulls do not contribute
        to the weights.

    Examples
    --------
    The first arm is nearer to the person; the options' execution probabilities are ignored.

    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> factored = Factored(points, window=10)
    >>> options = Options(np.array([0.7]), both, points, both, execution=np.array([0.1, 0.9]))
    >>> factored.choose(options, np.random.default_rng).arm
    0
    >>> factored.update(Pull(step=0, arm=0, execution=0.82), reward=1.0)
    >>> factored.choose(options, np.random.default_rng).arm
    0

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    The problem, that of BwO-UCB; ``docs/factored.md`` numbers the differences.
    """

    name: ClassVar[str] = "factored"
    learns: ClassVar[bool] = True
    learns_execution: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    variable_length: ClassVar[frozenset[str]] = PendingPulls.ARRAYS
    per_arm: ClassVar[frozenset[str]] = ArmPosteriors.PER_ARM
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"memory"})

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
        self._posteriors = ArmPosteriors(self.arms, optimism)
        self._weights = ChangeWeights(np.full(columns, 1.0 / max(columns, 1)), _precision(columns))
        self._pending = PendingPulls(self._weights, self.arms, window, math.ceil(memory))

    def begin(self, options: Options, random: Callable[[], np.random.Generator]) -> None:  # noqa: ARG002 -- it draws nothing
        """Assume the failure of old pulls, and update the prior when its time has come."""
        t = self._t
        self._t = t + 1
        self._pending.assume_failure(t)
        if t % PRIOR_PERIOD == PRIOR_PERIOD - 1:
            self._posteriors.update_prior()
            self._pending.reweight_failures(self._posteriors, self._t)

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:  # noqa: ARG002 -- it draws nothing
        """Pick the option with the largest index, and count the pull as unrewarded."""
        weights, upper_index = self._weights.weights, self._posteriors.upper_index
        # [:] gives the compiled loop a plain tuple.
        at, e = best_option(options[:5], weights, NO_NOISE, NO_RESIDUAL_WEIGHT, upper_index, self.focus)
        k, target = options.arm.item(at), options.points[options.point.item(at)]
        self._pending.add(self._t - 1, k, np.abs(target - options.person), self._posteriors.mean.item(k), e)
        self._posteriors.pull(k, e)
        return Pick(k, 1.0, e)

    def update(self, pull: Pull, reward: float) -> None:
        """Count a pull as rewarded, in part when the reward is below 1, and learn the weights from it."""
        if reward:
            self._posteriors.reward(pull.arm, pull.execution, reward)
        self._pending.reward(pull, reward, self._t)

    def retract(self, pull: Pull) -> None:
        """Take a pull back."""
        self._posteriors.retract(pull.arm, pull.execution)
        self._pending.retract(pull, self._t)

    def state(self) -> dict[str, NDArray[Any]]:
        """``t`` (); the posteriors' ``log_likelihood``, ``unrewarded`` and ``prior``; the weights' ``information`` and
        ``target``; and the arrays of ``PendingPulls``."""
        return {
            "t": np.array(self._t, dtype=np.int64),
            **self._posteriors.state(),
            **self._weights.state(),
            **self._pending.state(),
        }

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same arms and parameters stood."""
        self.check_state(state)
        self._pending.check(state, int(state["t"]))
        self._t = int(state["t"])
        self._posteriors.restore(state)
        self._weights.restore(state)
        self._pending.restore(state)


def _precision(columns: int) -> Array:
    """The inverse of the weights' prior covariance, (SHARED_VARIANCE + OWN_VARIANCE on the diagonal) / D^2."""
    shared = SHARED_VARIANCE / (OWN_VARIANCE + SHARED_VARIANCE * columns)
    precision: Array = columns**2 / OWN_VARIANCE * (np.eye(columns) - shared)
    return precision
