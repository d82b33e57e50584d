"""LinUCB: optimism about what is not known yet, with rewards that come late or never."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .contract import Array, Choice, Pick, Picks, Pull, Run, State
from .interval import Interval
from .linucbscan import take_steps


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
    points
        The K candidates, shape (K, D); only their number is used.
    window
        Number m of steps that rewards are waited for.
    regularisation
        $\lambda$, above 0. It also scales exploration: a larger one makes all bonuses smaller and more alike.
    delta
        $\delta$, between 0 and 1: probability with which the confidence bound may fail.

    Examples
    --------
    >>> linucb = LinUCB(np.array([[0.9], [0.1]]), window=10)
    >>> person, feasible, execution = np.array([0.5]), np.array([0, 1]), np.array([0.8, 0.8])
    >>> linucb.choose(person, feasible, execution, np.random.default_rng)
    Pick(candidate=0, propensity=1.0, execution=0.8)

    Until a reward comes, the candidate that was tried less is the more promising one; afterwards it is not.

    >>> linucb.choose(person, feasible, execution, np.random.default_rng)
    Pick(candidate=1, propensity=1.0, execution=0.8)
    >>> linucb.update(Pull(step=1, candidate=1, execution=0.8), reward=1.0)
    >>> linucb.choose(person, feasible, execution, np.random.default_rng)
    Pick(candidate=1, propensity=1.0, execution=0.8)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Algorithm 1.
    Vernade, C., Carpentier, A., Lattimore, T., Zappella, G., Ermis, B. and Brueckner, M. (2020). Linear Bandits with
    Stochastic Delayed Feedback. ICML.
    """

    name: ClassVar[str] = "linucb"
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True

    def __init__(
        self,
        points: Array,
        window: int,
        regularisation: Annotated[float, Interval(above=1e-6, below=1e9)] = 20.0,
        delta: Annotated[float, Interval(above=1e-12, below=1)] = 0.05,
    ) -> None:
        super().__init__(points, window, regularisation=regularisation, delta=delta)
        self.regularisation = regularisation
        self.delta = delta
        prior = self.candidates * regularisation
        self._constants = (float(self.candidates), prior, math.sqrt(regularisation), 2.0 * math.log(1.0 / delta))
        nothing = np.zeros(self.candidates)
        self._set(nothing + regularisation, nothing, np.zeros(window), np.zeros(2), 0)
        self._one = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)

    def choose(
        self,
        person: Array,  # noqa: ARG002 -- the execution probabilities say all of the person that is needed
        feasible: NDArray[np.intp],
        execution: Array,
        random: Callable[[], np.random.Generator],  # noqa: ARG002 -- nothing is drawn
    ) -> Pick | None:
        """Pick the feasible candidate with the largest upper confidence bound, and count the pick as pulled."""
        first, last, places = self._one
        last[0] = len(feasible)
        self._take_steps(first, last, feasible, execution, places)
        at = places.item(0)
        return None if at < 0 else Pick(feasible.item(at), 1.0, execution.item(at))

    def choose_run(
        self,
        run: Run,
        random: Callable[[int], np.random.Generator],  # noqa: ARG002 -- nothing is drawn
    ) -> Picks:
        """The steps of a run in one go."""
        places = np.empty(len(run.first), dtype=np.intp)
        self._take_steps(run.first, run.last, run.feasible, run.execution, places)
        counted = run.execution[places] if len(run.execution) else np.zeros(len(places))
        return Picks(places.tolist(), [1.0] * len(places), counted.tolist())

    def update(self, pull: Pull, reward: float) -> None:
        """Add a reward in [0, 1] to the estimate of its candidate."""
        if not reward:
            return
        self._b[pull.candidate] += pull.execution * reward
        self._estimate_again(pull.candidate)

    def forget(self, pull: Pull) -> None:
        """Take a pull back. Its bonus stays among the last m until it leaves by itself."""
        k, e = pull.candidate, pull.execution
        self._v[k] = max(self._v[k] - e * e, self.regularisation)
        self._estimate_again(k)

    def state(self) -> dict[str, NDArray[Any]]:
        """``v`` (K,), ``b`` (K,), ``bonuses`` (m,) from the oldest on, 0 where there was none yet, their sum ``total``
        (2,), the second number being what the first is too small by, and ``t`` ()."""
        return {
            "v": self._v.copy(),
            "b": self._b.copy(),
            "bonuses": np.roll(self._bonuses, -int(self._clock[1])),
            "total": self._total.copy(),
            "t": np.array(self._clock[0], dtype=np.int64),
        }

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood."""
        self.check_state(state)
        self._set(state["v"], state["b"], state["bonuses"], state["total"], int(state["t"]))

    def _take_steps(
        self,
        first: NDArray[np.intp],
        last: NDArray[np.intp],
        feasible: NDArray[np.intp],
        execution: Array,
        places: NDArray[np.intp],
    ) -> None:
        take_steps(
            first,
            last,
            feasible,
            execution,
            self._v,
            self._b,
            self._theta,
            self._bonuses,
            self._total,
            self._clock,
            self._constants,
            places,
        )

    def _estimate_again(self, candidate: int) -> None:
        self._theta[candidate] = self._b[candidate] / self._v[candidate]

    def _set(self, v: Array, b: Array, bonuses: Array, total: Array, t: int) -> None:
        self._v = np.array(v, dtype=np.float64)
        self._b = np.array(b, dtype=np.float64)
        self._theta = self._b / self._v
        self._bonuses = np.array(bonuses, dtype=np.float64)
        self._total = np.array(total, dtype=np.float64)
        self._clock = np.array([t, 0], dtype=np.int64)
