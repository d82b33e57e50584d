"""Posterior: what is known of each candidate, with mild optimism and less noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .components.arm_posteriors import ArmPosteriors
from .components.execution_model import ExecutionModel
from .contract import Array, Choice, Pick, Pull, State
from .interval import Interval

RENEWAL = 10
"""The prior is learned anew every so many steps."""


class Posterior(Choice):
    r"""A posterior per candidate, with the execution probabilities cleared of noise.

    A suggestion is rewarded when the person carries it out (probability $e$) and it then really improves their
    situation (probability $\theta_k$, to be learned). So a candidate's outcomes have the likelihood $\prod \theta_k e$
    over those rewarded times $\prod (1 - \theta_k e)$ over all others, pending ones among them. With a prior that is
    learned from all candidates its posterior has the mean $\mu_k$ and the standard deviation $\sigma_k$. The step
    takes the largest

    $$\hat e_k^{\,p} (\mu_k + c\, \sigma_k)$$

    where $\hat e_k$ is the execution probability as estimated by regression from all those given so far. An exponent
    $p$ above 1 leaves a candidate to those who are near it: they try it at less cost, and others learn from them.
    Among equals the first candidate is taken.

    Parameters
    ----------
    points
        The K candidates, shape (K, D).
    window
        Number m of steps that rewards are waited for; not used, since a pull counts as silent from the start.
    optimism
        $c$, above 0.
    focus
        $p$, above 0.

    Examples
    --------
    >>> posterior = Posterior(np.array([[0.9], [0.1]]), window=10)
    >>> person, feasible, execution = np.array([0.5]), np.array([0, 1]), np.array([0.67, 0.67])
    >>> posterior.choose(person, feasible, execution, np.random.default_rng).candidate
    0

    A silent pull counts as a failure at once; a reward makes it a success.

    >>> posterior.choose(person, feasible, execution, np.random.default_rng).candidate
    1
    >>> posterior.update(Pull(step=1, candidate=1, execution=0.67), reward=1.0)
    >>> posterior.choose(person, feasible, execution, np.random.default_rng).candidate
    1

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    The problem; ``docs/posterior.md`` numbers the differences.
    """

    name: ClassVar[str] = "posterior"
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True
    revision: ClassVar[int] = 2

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
        self._beliefs = ArmPosteriors(self.candidates, optimism)
        self._readings = ExecutionModel(points)

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
        if t % RENEWAL == RENEWAL - 1:
            self._beliefs.learn_prior()
        if not len(feasible):
            return None
        self._readings.learn(t, person, feasible, execution)
        at, e = self._readings.most_promising(person, feasible, execution, self._beliefs.promise, self.focus)
        k = feasible.item(at)
        self._beliefs.pull(k, e)
        return Pick(k, 1.0, e)

    def update(self, pull: Pull, reward: float) -> None:
        """Count a pull as rewarded, in part when the reward is below 1."""
        if reward:
            self._beliefs.reward(pull.candidate, pull.execution, reward)

    def forget(self, pull: Pull) -> None:
        """Take a pull back."""
        self._beliefs.forget(pull.candidate, pull.execution)

    def state(self) -> dict[str, NDArray[Any]]:
        """``t`` (); of the beliefs ``evidence``, ``silent`` and ``prior``; of the readings ``information``, ``target``
        and ``scatter``."""
        return {"t": np.array(self._t, dtype=np.int64), **self._beliefs.state(), **self._readings.state()}

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same candidates and parameters stood."""
        self.check_state(state)
        self._t = int(state["t"])
        self._beliefs.restore(state)
        self._readings.restore(state)
