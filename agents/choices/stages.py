"""Stages: what is expected of options, corrected stage by stage: whether people act, and whether it then helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..evidence import rounded
from ..options import Options
from ..parameters import Interval
from .contract import Array, Pull, Seen, State
from .residual import (
    EFFORT,
    FEATURES,
    HIGHEST,
    LEVEL,
    LOWEST,
    MOST_EXPECTED,
    NUMBERS,
    PRIOR_SD,
    REPORTED,
    Expected,
    Residual,
)

ACTING = REPORTED
"""The place of alpha among the weights."""
LEAST_EXPECTED = 1e-3
"""Expected probabilities count as no less, so that no silence divides by 0."""
TO_THE_EASIEST = 2.0
"""How much more probably people try what is easier: in proportion to the execution probability to this power."""
KNOWN, STATED, ACTED, INFORMATION = range(4)
"""The places of the sums of ``acting``: people of whom acting is known, the probabilities that were stated of them, how
many acted, and the information about kappa that they gave."""


class Stages(Residual):
    r"""What is expected of options, corrected stage by stage.

    Whether somebody acts and whether it helps are two things, which are seen by different events at different times:

    $$\log e = \min(\alpha, 0) - e^\kappa \textstyle\sum_f (1 + \delta_f)\, \nu |\Delta_f|, \qquad
    \log p = \log \sigma\bigl(a + (1 + s)(L - \textstyle\sum_f \omega_f \varphi_f)\bigr) + u_k$$

    The symbols are those of ``Residual``, which has both in one; $\alpha$ is the logarithm of the share of people who
    act at all. The step takes the option with the largest $e p (1 + c\,\mathrm{sd}(\log e p))$.

    Each stage is learned from its half of the gradient, when it is seen: that somebody acted or did not from $e$, that
    it helped who acted from $p$. An outcome of which nobody says whether its person acted is one event of probability
    $e p$, and teaches both halves together. Of what nobody has seen nothing is learned.

    Of several options each gets the share of the lesson with which it is probably the one that was tried: in proportion
    to $e_k^2$, since most people try what is easy, and the likelihood of what was seen.

    Parameters
    ----------
    window
        Not used.
    optimism, arm_sd
        As in ``Residual``.

    Examples
    --------
    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> stages = Stages(points, window=10)
    >>> stages.equip(features=1)
    >>> options = Options(np.array([0.5]), both, points, both, execution=np.array([0.6, 0.7]))
    >>> pick = stages.choose(options, np.random.default_rng)
    >>> pull = Pull(0, pick.arm, pick.execution, pick.context)

    Nobody is seen to act, so options are harder than was thought.

    >>> for step in range(20):
    ...     stages.learn([pull], Seen(acted=False))
    >>> stages.choose(options, np.random.default_rng).execution < 0.5
    True

    References
    ----------
    McCullagh, P. and Nelder, J. A. (1989). Generalized Linear Models, 2nd edition. Section 5.2.5: sequential responses
    as nested binomial ones, each conditional on the stage before it.
    """

    name: ClassVar[str] = "stages"
    by_stages: ClassVar[bool] = True
    additive: ClassVar[frozenset[str]] = Residual.additive | {"acting"}
    bounds: ClassVar[tuple[tuple[float, ...], tuple[float, ...]]] = LOWEST, (*HIGHEST[:ACTING], 0.0)
    numbers: ClassVar[int] = NUMBERS + 2

    def __init__(
        self,
        points: Array,
        window: int,
        optimism: Annotated[float, Interval(above=-1, below=1000)] = 0.5,
        arm_sd: Annotated[float, Interval(above=-1, below=100)] = 0.5,
    ) -> None:
        super().__init__(points, window, optimism=optimism, arm_sd=arm_sd)

    def _start(self, features: int) -> None:
        self._acting = np.zeros(4)
        super()._start(features)
        acting = np.zeros(len(self._target), dtype=bool)
        acting[[EFFORT, ACTING]] = True
        acting[FEATURES + features :] = True
        self._of_acting = acting

    @property
    def has_learned_execution(self) -> bool:
        """Whether people who were seen to act, or not to, have halved the variance of kappa."""
        return bool(self._acting[INFORMATION] >= PRIOR_SD[EFFORT] ** -2.0)

    @property
    def has_seen_acting(self) -> bool:
        """Whether anybody of whom it would have heard either way was seen to act."""
        return bool(self._acting[ACTED] > 0.0)

    @property
    def acting(self) -> tuple[int, float, int]:
        """The people of whom acting is known, the sum of the probabilities stated of them, and how many acted."""
        known, stated, acted, _ = self._acting.tolist()
        return round(known), stated, round(acted)

    def update(self, pull: Pull, reward: float) -> None:
        """Learn from a pull whose outcome says nothing of acting; a reward between 0 and 1 counts in part."""
        if pull.context:
            self._add_both(pull, reward, 1.0)
            self._solve()

    def learn(self, pulls: Sequence[Pull], seen: Seen, sign: int = 1) -> None:
        """Learn what is seen of a person who tried one of these pulls at most; ``sign`` -1 takes the lesson back.

        Pulls without a context, which are another learner's, are left out. Raise ``ValueError`` for a context that is
        not one of such a learner.
        """
        informed = [pull for pull in pulls if pull.context]
        for pull, share in zip(informed, self._shares(informed, seen), strict=True):
            if seen.acted is None and seen.helped is not None:
                self._add_both(pull, float(seen.helped), sign * share)
            elif seen.acted is not None:
                if seen.either_way:
                    self._add_acting(pull, float(seen.acted), sign * share)
                if seen.acted and seen.helped is not None:
                    self._add_help(pull, float(seen.helped), sign * share)
        if informed:
            self._solve()

    def expected_of(self, pull: Pull, seen: Seen) -> tuple[float, float] | None:
        """The probability that was expected of the last stage that is seen, and what was seen; None of no stage."""
        if not pull.context or (seen.acted is None and seen.helped is None):
            return None
        execution, helps = self._stages(pull)
        if seen.helped is None:
            return execution, float(bool(seen.acted))
        return (helps if seen.acted else min(execution * helps, MOST_EXPECTED)), float(seen.helped)

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of ``Residual``, and the sums of ``acting`` (4,)."""
        return {**super().state(), "acting": self._acting.copy()}

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same arms, features and parameters stood."""
        super().restore(state)
        self._acting = state["acting"].copy()

    def _expected(self, options: Options) -> Expected:
        """As of ``Residual``; the share of people who act is a part of the execution."""
        expected = super()._expected(options)
        return expected._replace(execution=expected.execution * np.exp(self._weights.item(ACTING)))

    def _more_numbers(self, gradient: Array, execution: float) -> tuple[float, ...]:
        """The predictor of the weights of acting, and the execution probability."""
        return float((gradient * self._of_acting) @ self._weights), execution

    def _stages(self, pull: Pull) -> tuple[float, float]:
        """The probabilities at the pick that the person acts, and that it then helps."""
        (_, _, arm_effect, _, execution), gradient = self._read(pull.context)
        helps = (1.0 - gradient[LEVEL]) * np.exp(arm_effect)
        return _clipped(execution), _clipped(float(helps))

    def _shares(self, pulls: Sequence[Pull], seen: Seen) -> list[float]:
        """The posterior probability of each pull that it is the one that was tried."""
        if len(pulls) < 2:
            return [1.0] * len(pulls)
        execution, helps = np.array([self._stages(pull) for pull in pulls]).T
        likelihood = np.ones(len(pulls))
        if seen.acted is not None:
            likelihood = execution if seen.acted else 1.0 - execution
            if seen.acted and seen.helped is not None:
                likelihood = likelihood * (helps if seen.helped else 1.0 - helps)
        elif seen.helped is not None:
            likelihood = execution * helps if seen.helped else 1.0 - execution * helps
        weights = execution**TO_THE_EASIEST * likelihood
        shares: list[float] = (weights / weights.sum()).tolist()
        return shares

    def _add_acting(self, pull: Pull, acted: float, share: float) -> None:
        execution, _ = self._stages(pull)
        (_, _, _, predictor, _), gradient = self._read(pull.context)
        weight = self._add(gradient * self._of_acting, execution, predictor, acted, share)
        known = share * np.array([1.0, execution, acted, weight * gradient[EFFORT] ** 2])
        self._acting += rounded(known)

    def _add_help(self, pull: Pull, helped: float, share: float) -> None:
        _, helps = self._stages(pull)
        (_, predictor, arm_effect, of_acting, _), gradient = self._read(pull.context)
        weight = self._add(gradient * ~self._of_acting, helps, predictor - of_acting, helped, share)
        self._add_arm(pull, weight, arm_effect, helps, helped, share)

    def _add_both(self, pull: Pull, reward: float, share: float) -> None:
        (expected, predictor, arm_effect, *_), gradient = self._read(pull.context)
        expected = _clipped(expected)
        weight = self._add(gradient, expected, predictor, reward, share)
        self._add_arm(pull, weight, arm_effect, expected, reward, share)

    def _add(self, gradient: Array, expected: float, predictor: float, seen: float, share: float) -> float:
        """Add the Fisher information and the score of an event, and return its weight.

        ``gradient`` is that of the logarithm of the ``expected`` probability by the weights.
        """
        weight = expected / (1.0 - expected)
        self._information += rounded(share * weight * np.outer(gradient, gradient))
        self._target += rounded(share * (weight * predictor + (seen - expected) / (1.0 - expected)) * gradient)
        return weight

    def _add_arm(
        self, pull: Pull, weight: float, arm_effect: float, expected: float, seen: float, share: float
    ) -> None:
        score = (seen - expected) / (1.0 - expected)
        self._arm_evidence[:, pull.arm] += rounded(share * np.array([weight, weight * arm_effect + score]))


def _clipped(probability: float) -> float:
    return min(max(probability, LEAST_EXPECTED), MOST_EXPECTED)
