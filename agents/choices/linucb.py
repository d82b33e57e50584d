"""LinUCB: optimism about what is not known yet, with rewards that come late or never."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .contract import Choice, Pick, State
from .interval import Interval
from .windowsum import WindowSum

Array = NDArray[np.float64]


class LinUCB(Choice):
    r"""Contextual linear bandit with delayed feedback, one dimension a candidate.

    A suggestion is rewarded when the person carries it out (probability $e$, known) and it then really improves
    their situation (probability $\theta_k$, to be learned). The expected reward $\theta_k e$ is linear in the action
    $e u_k$, a scaled basis vector, so the matrix $V$ of the linear bandit is exactly diagonal: each candidate keeps
    two numbers, and a step costs O(K). In step $t$, counted from 0, it takes the feasible candidate with the largest

    $$\frac{b_k}{v_k} e_k + \alpha_t q_k, \qquad q_k = \frac{e_k^2}{v_k}, \qquad
    \alpha_t = 2 f_t + \sum_{\text{last } m} q, \qquad
    f_t = \sqrt{\lambda} + \sqrt{2 \log \frac{1}{\delta} + K \log \frac{K \lambda + t + 1}{K \lambda}}$$

    where the sum is of the bonuses $q$ of the last $m$ picks, as they were when picked: what may still be under way.
    A pick adds $e^2$ to $v_k$ at once, and its reward, if it comes, adds $e$ to $b_k$. So a reward that never comes
    lowers the estimate of its candidate without an event of its own. Among equals the first candidate is taken.

    Each $v_k$ starts at $\lambda$ and grows by one addition a pick, so that it rounds as the formula does when it is
    computed step by step. Keeping the sum of $e^2$ and adding $\lambda$ at the end would round differently, which
    could swap candidates that are nearly equal: the same point twice is common.

    Parameters
    ----------
    candidates
        Number K of candidates.
    window
        Number m of steps that rewards are waited for.
    regularisation
        $\lambda$, above 0. It also scales exploration: a larger one makes all bonuses smaller and more alike.
    delta
        $\delta$, between 0 and 1: probability with which the confidence bound may fail.

    Examples
    --------
    >>> linucb = LinUCB(candidates=2, window=10)
    >>> feasible, execution = np.array([0, 1]), np.array([0.8, 0.8])
    >>> linucb.choose(feasible, execution, np.random.default_rng)
    Pick(candidate=0, propensity=1.0)

    Until a reward comes, the candidate that was tried less is the more promising one; afterwards it is not.

    >>> linucb.choose(feasible, execution, np.random.default_rng)
    Pick(candidate=1, propensity=1.0)
    >>> linucb.update(candidate=1, execution=0.8, reward=1.0)
    >>> linucb.choose(feasible, execution, np.random.default_rng)
    Pick(candidate=1, propensity=1.0)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Algorithm 1.
    Vernade, C., Carpentier, A., Lattimore, T., Zappella, G., Ermis, B. and Brueckner, M. (2020). Linear Bandits with
    Stochastic Delayed Feedback. ICML.
    """

    name: ClassVar[str] = "linucb"
    learns: ClassVar[bool] = True

    def __init__(
        self,
        candidates: int,
        window: int,
        regularisation: Annotated[float, Interval(above=0)] = 20.0,
        delta: Annotated[float, Interval(above=0, below=1)] = 0.05,
    ) -> None:
        super().__init__(candidates, window, regularisation=regularisation, delta=delta)
        self.regularisation = regularisation
        self.delta = delta
        self._t = 0
        self._v = np.full(candidates, regularisation, dtype=np.float64)
        self._b = np.zeros(candidates)
        self._bonuses = WindowSum([0.0] * window)
        self._prior = candidates * regularisation
        self._root, self._doubt = math.sqrt(regularisation), 2.0 * math.log(1.0 / delta)
        self._theta = np.zeros(candidates)

    def choose(
        self,
        feasible: NDArray[np.intp],
        execution: NDArray[np.float64],
        random: Callable[[], np.random.Generator],  # noqa: ARG002 -- nothing is drawn
    ) -> Pick | None:
        """Pick the feasible candidate with the largest upper confidence bound, and count the pick as pulled."""
        t = self._t
        self._t = t + 1
        if not len(feasible):
            return None
        q = execution * execution
        q /= self._v.take(feasible)
        score = self._theta.take(feasible)
        score *= execution
        score += q * self._alpha(t)
        best = score.argmax()
        k, e = feasible.item(best), execution.item(best)
        self._bonuses.push(q.item(best))
        self._v[k] += e * e
        self._estimate_again(k)
        return Pick(k, 1.0)

    def update(self, candidate: int, execution: float, reward: float) -> None:
        """Add a reward in [0, 1] to the estimate of its candidate."""
        if not reward:
            return
        self._b[candidate] += execution * reward
        self._estimate_again(candidate)

    def forget(self, candidate: int, execution: float) -> None:
        """Take a pull back. Its bonus stays among the last m until it leaves by itself."""
        self._v[candidate] = max(self._v[candidate] - execution * execution, self.regularisation)
        self._estimate_again(candidate)

    def state(self) -> dict[str, NDArray[Any]]:
        """``v`` (K,), ``b`` (K,), ``bonuses`` (m,) from the oldest on, 0 where there was none yet, and ``t`` ()."""
        return {
            "v": self._v.copy(),
            "b": self._b.copy(),
            "bonuses": np.array(self._bonuses.numbers),
            "t": np.array(self._t, dtype=np.int64),
        }

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood."""
        self.check_state(state)
        self._set(state["v"], state["b"], state["bonuses"], int(state["t"]))

    def merge(self, other: Choice) -> None:
        """Add another learner's pulls, rewards and steps, and its bonuses under way, newest to newest."""
        self.check_alike(other)
        mine, theirs = self.state(), other.state()
        pulls = theirs["v"] - self.regularisation
        self._set(
            mine["v"] + pulls,
            mine["b"] + theirs["b"],
            mine["bonuses"] + theirs["bonuses"],
            int(mine["t"] + theirs["t"]),
        )

    def _alpha(self, t: int) -> float:
        growth = self.candidates * math.log((self._prior + t + 1) / self._prior)
        return 2.0 * (self._root + math.sqrt(self._doubt + growth)) + self._bonuses.value

    def _estimate_again(self, candidate: int) -> None:
        self._theta[candidate] = self._b[candidate] / self._v[candidate]

    def _set(self, v: Array, b: Array, bonuses: Array, t: int) -> None:
        self._v = np.array(v, dtype=np.float64)
        self._b = np.array(b, dtype=np.float64)
        self._theta = self._b / self._v
        self._bonuses = WindowSum(bonuses.tolist())
        self._t = t
