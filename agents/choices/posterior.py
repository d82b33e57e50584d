"""Posterior: a posterior per arm with mild optimism, and execution probabilities without their noise."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..options import Options
from ..parameters import Interval
from .components.arm_posteriors import ArmPosteriors
from .components.execution_model import ExecutionModel
from .contract import Array, Choice, Pick, Pull, Random, State

PRIOR_PERIOD = 10
"""The prior is updated every 10th step."""


class Posterior(Choice):
    r"""A posterior per arm, with execution probabilities estimated from noisy observations.

    A suggestion is rewarded when the person carries it out (probability $e$) and it then really improves their
    situation (probability $\theta_k$, to be learned). So an arm's outcomes have the likelihood $\prod \theta_k e$
    over the rewarded pulls times $\prod (1 - \theta_k e)$ over all others, pending ones among them. With a prior that
    is learned from all arms, its posterior has the mean $\mu_k$ and the standard deviation $\sigma_k$. The step takes
    the option with the largest

    $$\hat e_k^{\,p} (\mu_k + c\, \sigma_k)$$

    where $\hat e_k$ is the execution probability, estimated by regression on all observed ones. An exponent $p$ above 1
    leaves an arm to the people who are near it: they try it at less cost, and others learn from them. Of equals
    the one of the largest observed probability is taken, then the first.

    Parameters
    ----------
    window
        Number m of steps in which a reward may arrive; not used, since a pull counts as unrewarded from the start.
    optimism
        Number $c$ of posterior standard deviations added to the mean.
    focus
        Exponent $p$ of the execution probability; a larger one favours options that are easy to carry out.

    Examples
    --------
    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> posterior = Posterior(points, window=10)
    >>> options = Options(np.array([0.5]), both, points, both, execution=np.array([0.67, 0.67]))
    >>> posterior.choose(options, np.random.default_rng).arm
    0

    A pull counts as unrewarded at once; a reward makes it a success.

    >>> posterior.choose(options, np.random.default_rng).arm
    1
    >>> posterior.update(Pull(step=1, arm=1, execution=0.67), reward=1.0)
    >>> posterior.choose(options, np.random.default_rng).arm
    1

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    The problem; ``docs/posterior.md`` numbers the differences.
    """

    name: ClassVar[str] = "posterior"
    reads_outlook: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    per_arm: ClassVar[frozenset[str]] = ArmPosteriors.PER_ARM

    def __init__(
        self,
        points: Array,
        window: int,
        optimism: Annotated[float, Interval(above=0, below=1000)] = 0.8,
        focus: Annotated[float, Interval(above=0, below=100)] = 3.5,
    ) -> None:
        super().__init__(points, window, optimism=optimism, focus=focus)
        self.optimism = optimism
        self.focus = focus
        self._t = 0
        self._posteriors = ArmPosteriors(self.arms, optimism)
        self._execution = ExecutionModel(points)

    def begin(self, options: Options, random: Random) -> None:
        """Update the prior when its time has come, and learn from the observed execution probabilities."""
        t = self._t
        self._t = t + 1
        if t % PRIOR_PERIOD == PRIOR_PERIOD - 1:
            self._posteriors.update_prior()
        if len(options.arm):
            self._execution.learn(t, options)

    def worth(self, options: Options, random: Random) -> Array:
        """The indices."""
        upper = self._posteriors.upper_index
        estimates = (self._execution.best_option(options.only(at), upper, self.focus) for at in range(options.number))
        return np.array([e**self.focus for _, e in estimates]) * upper[options.arm]

    def pick(self, options: Options, random: Random) -> Pick:
        """Pick the option with the largest index, and count the pull as unrewarded."""
        at, e = self._execution.best_option(options, self._posteriors.upper_index, self.focus)
        k = options.arm.item(at)
        self._posteriors.pull(k, e)
        return Pick(k, 1.0, e)

    def update(self, pull: Pull, reward: float) -> None:
        """Count a pull as rewarded, in part when the reward is below 1."""
        if reward:
            self._posteriors.reward(pull.arm, pull.execution, reward)

    def retract(self, pull: Pull) -> None:
        """Take a pull back."""
        self._posteriors.retract(pull.arm, pull.execution)

    def state(self) -> dict[str, NDArray[Any]]:
        """``t`` (), the posteriors' ``log_likelihood``, ``unrewarded`` and ``prior``, and the execution model's
        ``information``, ``target`` and ``noise_stats``."""
        return {"t": np.array(self._t, dtype=np.int64), **self._posteriors.state(), **self._execution.state()}

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same arms and parameters stood."""
        self.check_state(state)
        self._t = int(state["t"])
        self._posteriors.restore(state)
        self._execution.restore(state)
