"""LinUCB: optimism under uncertainty, with rewards that come late or never."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..compiled import compiled
from ..options import OptionBatch, Options
from ..parameters import Interval
from .contract import Array, Choice, Pick, Pull, Random, State

# One is made for every pick. This is several times as fast as a call of the class.
_pick = partial(tuple.__new__, Pick)
_NONE: Indices = np.zeros(0, dtype=np.intp)


class Constants(NamedTuple):
    """K ``arms``, and of the formula: ``prior`` K lambda, ``root`` sqrt(lambda), ``confidence`` 2 log(1/delta)."""

    arms: int
    prior: float
    root: float
    confidence: float


class LinUCB(Choice):
    r"""Contextual linear bandit with delayed feedback, one dimension an arm. A baseline of the literature.

    A suggestion is rewarded when the person carries it out (probability $e$, known) and it then really improves
    their situation (probability $\theta_k$, to be learned). The expected reward $\theta_k e$ is linear in the action
    $e u_k$, a scaled basis vector, so the matrix $V$ of the linear bandit is exactly diagonal: each arm keeps
    two numbers, and a step costs O(K). In step $t$, counted from 0, it takes the option with the largest

    $$\frac{b_k}{v_k} e_k + \alpha_t q_k, \qquad q_k = \frac{e_k^2}{v_k}, \qquad
    \alpha_t = 2 f_t + \sum_{\text{last } m} q, \qquad
    f_t = \sqrt{\lambda} + \sqrt{2 \log \frac{1}{\delta} + K \log \frac{K \lambda + t + 1}{K \lambda}}$$

    where the sum is of the bonuses $q$ of the last $m$ picks, each as of its pick: their rewards may still come.
    A pick adds $e^2$ to $v_k$ at once, and its reward, if it comes, adds $e$ to $b_k$. So a reward that never comes
    lowers the estimate of its arm without an event of its own. The first of equals is taken.

    Each $v_k$ starts at $\lambda$ and grows by one addition a pick, so that it rounds as the formula does when it is
    computed step by step. Keeping the sum of $e^2$ and adding $\lambda$ at the end would round differently, which
    could swap arms that are nearly equal: equal arms are common.

    Parameters
    ----------
    points
        The K arms, shape (K, D); only their number is used.
    window
        Number m of steps in which a reward may arrive.
    regularisation
        $\lambda$, above 0. It also scales exploration: a larger one makes all bonuses smaller and more alike.
    delta
        $\delta$, between 0 and 1: probability with which the confidence bound may fail.

    Examples
    --------
    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> linucb = LinUCB(points, window=10)
    >>> options = Options(np.array([0.5]), both, points, both, execution=np.array([0.8, 0.8]))
    >>> linucb.choose(options, np.random.default_rng)
    Pick(arm=0, propensity=1.0, execution=0.8)

    Until a reward comes, the arm with fewer pulls has the larger index; afterwards it has not.

    >>> linucb.choose(options, np.random.default_rng)
    Pick(arm=1, propensity=1.0, execution=0.8)
    >>> linucb.update(Pull(step=1, arm=1, execution=0.8), reward=1.0)
    >>> linucb.choose(options, np.random.default_rng)
    Pick(arm=1, propensity=1.0, execution=0.8)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Algorithm 1.
    Vernade, C., Carpentier, A., Lattimore, T., Zappella, G., Ermis, B. and Brueckner, M. (2020). Linear Bandits with
    Stochastic Delayed Feedback. ICML.
    """

    name: ClassVar[str] = "linucb"
    reads_outlook: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    ignores_zero_reward: ClassVar[bool] = True
    per_arm: ClassVar[frozenset[str]] = frozenset({"v", "b"})
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"regularisation"})

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
        prior = float(self.arms * regularisation)
        self._constants = Constants(self.arms, prior, math.sqrt(regularisation), 2.0 * math.log(1.0 / delta))
        self._per_arm, self._total_and_bonuses = np.zeros((3, self.arms)), np.zeros(2 + window)
        self._v, self._b, self._theta = self._per_arm
        self._v[:] = regularisation
        self._total, self._bonuses = self._total_and_bonuses[:2], self._total_and_bonuses[2:]
        self._clock = np.zeros(2, dtype=np.int64)
        self._steps, self._oldest = self._clock[:1], self._clock[1:]

    def begin(self, options: Options, random: Random) -> None:
        """Count the step."""
        self._steps[0] += 1

    def pick(self, options: Options, random: Random) -> Pick:
        """Pick the option with the largest upper confidence bound, and count the pull."""
        arm, execution = options.arm, options.execution
        place = pull_best(arm, execution, _NONE, self._per_arm, self._total_and_bonuses, self._clock, self._constants)
        return Pick(arm.item(place), 1.0, execution.item(place))

    def worth(self, options: Options, random: Random) -> Array:
        """The upper confidence bounds."""
        arms_at, e = options.arm, options.execution
        alpha = optimism(self._total_and_bonuses, self._clock, self._constants)
        return self._theta[arms_at] * e + e * e / self._v[arms_at] * alpha

    def select_batch(
        self,
        batch: OptionBatch,
        max_options: int,
        random: Callable[[int], np.random.Generator],
        *,
        second_way: bool = False,
    ) -> list[tuple[Pick, ...]]:
        """Take the steps of n people, in one compiled loop where any options may stand beside each other."""
        if batch.samples is not None or ((second_way or batch.outlook is not None) and max_options > 1):
            return super().select_batch(batch, max_options, random, second_way=second_way)
        people = batch.first, batch.last, batch.arm, batch.execution
        picked = np.empty((len(batch.first), max_options), dtype=np.intp)
        executions = np.empty(picked.shape)
        pick_in_turn(people, picked, executions, self._per_arm, self._total_and_bonuses, self._clock, self._constants)
        return list(map(_picks_of, picked.tolist(), executions.tolist()))

    def update(self, pull: Pull, reward: float) -> None:
        """Add a reward in [0, 1] to the estimate of its arm."""
        if reward:
            self._b[pull.arm] += pull.execution * reward
            self._theta[pull.arm] = self._b[pull.arm] / self._v[pull.arm]

    def retract(self, pull: Pull) -> None:
        """Take a pull back. Its bonus stays among the last m until m further picks."""
        k, e = pull.arm, pull.execution
        v = max(self._v.item(k) - e * e, self.regularisation)
        self._v[k], self._theta[k] = v, self._b.item(k) / v

    def state(self) -> dict[str, NDArray[Any]]:
        """``v``, ``b`` (K,); ``bonuses`` (m,), oldest first, 0 before the first picks; their sum ``total`` (2,), the
        second number being the rounding error of the first; ``t`` ()."""
        return {
            "v": self._v.copy(),
            "b": self._b.copy(),
            "bonuses": np.roll(self._bonuses, -self._oldest.item()),
            "total": self._total.copy(),
            "t": np.array(self._steps[0], dtype=np.int64),
        }

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same size and parameters stood."""
        self.check_state(state)
        self._v[:], self._b[:] = state["v"], state["b"]
        np.divide(self._b, self._v, out=self._theta)
        self._bonuses[:], self._total[:] = state["bonuses"], state["total"]
        self._steps[:], self._oldest[:] = state["t"], 0


def _picks_of(arms: list[int], executions: list[float]) -> tuple[Pick, ...]:
    """The picks of one person; entries of -1 are left out."""
    return tuple([_pick((arm, 1.0, e, b"")) for arm, e in zip(arms, executions, strict=True) if arm >= 0])


@compiled
def pick_in_turn(
    people: tuple[Indices, Indices, Indices, Array],
    picked: Indices,
    executions: Array,
    per_arm: Array,
    total_and_bonuses: Array,
    clock: NDArray[np.int64],
    constants: Constants,
) -> None:
    """Take the steps of n people, who get up to m options each, in place.

    ``people`` are ``first``, ``last`` (n,), ``arm`` and ``execution`` (P,), as in ``OptionBatch``. ``picked`` (n, m)
    takes the arms of the picks, best first and -1 for those that there are not, ``executions`` (n, m) their execution
    probabilities. The other arguments are those of ``pull_best``.
    """
    first, last, arm, execution = people
    for i in range(len(first)):
        clock[0] += 1
        span, picks = slice(first[i], last[i]), picked[i]
        count = min(len(picks), last[i] - first[i])
        for rank in range(count):
            picks[rank] = pull_best(
                arm[span], execution[span], picks[:rank], per_arm, total_and_bonuses, clock, constants
            )
        for rank in range(len(picks)):
            executions[i, rank] = execution[first[i] + picks[rank]] if rank < count else 0.0
            picks[rank] = arm[first[i] + picks[rank]] if rank < count else -1


@compiled
def optimism(total_and_bonuses: Array, clock: NDArray[np.int64], constants: Constants) -> float:
    """The factor alpha of the bonuses; the arguments are those of ``pull_best``."""
    growth = constants.arms * math.log((constants.prior + clock[0]) / constants.prior)
    return float(2.0 * (constants.root + math.sqrt(constants.confidence + growth)) + total_and_bonuses[0])


@compiled
def pull_best(
    arm: Indices,
    execution: Array,
    taken: Indices,
    per_arm: Array,
    total_and_bonuses: Array,
    clock: NDArray[np.int64],
    constants: Constants,
) -> int:
    """The place of the option with the largest bound, whose pull is counted, in place.

    It is compiled because numpy's calls cost more than F options. ``arm`` and ``execution`` (F,) are the options,
    those at the places ``taken`` excepted, of which there are few.
    ``per_arm`` (3, K) are ``v``, ``b`` and ``theta``. ``total_and_bonuses`` (2 + m,) are the ``total`` of ``state``,
    with which the sum of a window of any length is right to the last bit, and a ring of the last ``bonuses``. ``clock``
    (2,) is the number of steps, this one included, and the ring's oldest place.
    """
    v, b, theta = per_arm[0], per_arm[1], per_arm[2]
    total, bonuses = total_and_bonuses[:2], total_and_bonuses[2:]
    alpha = optimism(total_and_bonuses, clock, constants)
    best, bonus, place = -math.inf, 0.0, 0
    for other in range(len(arm)):
        if other in taken:
            continue
        k, e = arm[other], execution[other]
        q = e * e / v[k]
        score = theta[k] * e + q * alpha
        if score > best:
            best, bonus, place = score, q, other
    oldest = clock[1]
    for number in (bonus, -bonuses[oldest]):  # compensated summation
        high = total[0] + number
        part = high - total[0]
        low = (total[0] - (high - part)) + (number - part) + total[1]
        total[0] = high + low
        total[1] = low - (total[0] - high)
    bonuses[oldest] = bonus
    clock[1] = (oldest + 1) % len(bonuses)
    k, e = arm[place], execution[place]
    v[k] += e * e
    theta[k] = b[k] / v[k]
    return place
