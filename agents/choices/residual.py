"""Residual: what is expected of options, corrected by what comes of them."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..costs import effort
from ..evidence import rounded
from ..options import Options, Outlook
from ..parameters import Interval
from .contract import Array, Choice, FeatureBeliefs, LearnedHelp, Pick, Pull, Random, State

LEVEL, SLOPE, EFFORT, REPORTED, FEATURES = range(5)
"""The places of a, s, kappa and r among the weights. Those of omega and delta follow, one a feature."""
NUMBERS, OWN = 3, 2
"""The numbers with which a pull's context begins: expected reward, the predictors of all weights and of the arm, the
last at ``OWN``."""
PRIOR_SD = (0.25, 0.15, effort.LEVEL_SD, 0.3)
DOUBTED_LEVEL_SD = 1.5
"""The standard deviation of a where labels are not of everybody: what they say of others may be this far off."""
FEATURE_SD = {"omega": 0.2, "delta": effort.FEATURE_SD}
LOWEST, HIGHEST = (-np.inf, -0.9, effort.LEVEL_RANGE[0], -np.inf), (np.inf, 2.0, effort.LEVEL_RANGE[1], np.inf)
FEATURE_RANGES = {"omega": (-0.5, 1.2), "delta": effort.FEATURE_RANGE}
"""Weights count as no lower and no higher: far away the model means nothing."""

LEAST_FAILS = 1e-9
"""Options count as helping no more surely than all but this."""
MOST_EXPECTED = 0.95
"""Expected rewards count as no more, so that no single outcome is conclusive."""


class Expected(NamedTuple):
    """The logarithm of the expected reward of F options (F,), its gradient (F, W), and the execution (F,)."""

    log_reward: Array
    gradient: Array
    execution: Array


class Residual(Choice):
    r"""What is expected of options, corrected by what comes of them.

    An option is rewarded when its person carries it out and it helps:

    $$\log q = \log \sigma\bigl(a + (1 + s)(L - \textstyle\sum_f \omega_f \varphi_f)\bigr)
    - e^\kappa \textstyle\sum_f (1 + \delta_f)\, \nu |\Delta_f| + r + u_k$$

    $L$ are the log odds that it helps, $\varphi_f$ what these lose when feature $f$ is put back, and $\nu|\Delta_f|$ is
    the effort that its change is thought to take: the ``Outlook`` of the options. To be learned are how far the log
    odds are off ($a$, $s$), which features help less than thought ($\omega$), how hard changes are ($\kappa$, and
    $\delta$ by feature), which share of improvements is reported ($r$), and what is particular to an arm ($u_k$). All
    are 0 where the outlook is right; their prior is normal around that. Options without an outlook have $L = 0$.

    An outcome is learned from the gradient of $\log q$ at the pick, the pull's context: its Fisher information and its
    score are added to $\Lambda$ and $b$. So outcomes may come in any order, and the evidence of several learners adds
    up. The step takes the option with the largest $q (1 + c\,\mathrm{sd}(\log q))$, the first of equals.

    Parameters
    ----------
    window
        Not used: a pull counts when its outcome comes, or its window closes.
    optimism
        Number $c$ of posterior standard deviations.
    arm_sd
        Standard deviation of $u_k$ before any outcome; 0 where an outlook says all of an option.

    Examples
    --------
    >>> points, both = np.array([[0.9], [0.1]]), np.array([0, 1])
    >>> residual = Residual(points, window=10)
    >>> residual.equip(features=1)
    >>> options = Options(np.array([0.5]), both, points, both, execution=np.array([0.6, 0.7]))
    >>> pick = residual.choose(options, np.random.default_rng)
    >>> pick.arm
    1

    An outcome says something of its arm, and less of all others.

    >>> for step in range(20):
    ...     residual.update(Pull(step, pick.arm, pick.execution, pick.context), reward=0.0)
    >>> residual.choose(options, np.random.default_rng).arm
    0

    References
    ----------
    Chapelle, O. and Li, L. (2011). An Empirical Evaluation of Thompson Sampling. NeurIPS. Algorithm 3: a normal
    posterior of a generalised linear model, by its Laplace approximation.
    """

    name: ClassVar[str] = "residual"
    learns: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"features"})
    per_arm: ClassVar[frozenset[str]] = frozenset({"arm_information", "arm_target"})
    additive: ClassVar[frozenset[str]] = frozenset({"information", "target"}) | per_arm
    bounds: ClassVar[tuple[tuple[float, ...], tuple[float, ...]]] = LOWEST, HIGHEST
    """The weights that are not of single features count as no lower and no higher."""
    numbers: ClassVar[int] = NUMBERS
    """The numbers before the gradient in a pull's context."""

    def __init__(
        self,
        points: Array,
        window: int,
        optimism: Annotated[float, Interval(above=-1, below=1000)] = 0.5,
        arm_sd: Annotated[float, Interval(above=-1, below=100)] = 0.5,
    ) -> None:
        super().__init__(points, window, optimism=optimism, arm_sd=arm_sd)
        self.optimism, self.arm_sd = optimism, arm_sd
        self._arm_evidence = np.zeros((2, self.arms))
        self._start(0)

    def equip(self, **artefacts: Any) -> None:
        """Take the number M of ``features``, before anything is picked."""
        super().equip(**artefacts)
        self._start(artefacts["features"])

    def _start(self, features: int) -> None:
        self._features = features
        ones = np.ones(features)
        of_features = FEATURE_SD["omega"] * ones, FEATURE_SD["delta"] * ones
        self._precision = np.concatenate([PRIOR_SD, *of_features]) ** -2.0
        bounds = (FEATURE_RANGES["omega"], FEATURE_RANGES["delta"])
        self._lowest, self._highest = (
            np.concatenate([ends, *(pair[side] * ones for pair in bounds)]) for side, ends in enumerate(self.bounds)
        )
        weights = len(self._precision)
        self._information, self._target = np.zeros((weights, weights)), np.zeros(weights)
        self._solve()

    def doubt_level(self) -> None:
        """Take a wider prior of a, so that the first outcomes move it, and not what is learned of features."""
        self._precision[LEVEL] = DOUBTED_LEVEL_SD**-2.0
        self._solve()

    def _solve(self) -> None:
        """Find the posterior of the weights. Those that no outcome says anything of keep their prior."""
        seen = np.flatnonzero(self._information.diagonal())
        self._covariance, self._weights = np.diag(1.0 / self._precision), np.zeros(len(self._precision))
        if len(seen):
            among = np.ix_(seen, seen)
            covariance = np.linalg.inv(self._information[among] + np.diag(self._precision[seen]))
            self._covariance[among], self._weights[seen] = covariance, covariance @ self._target[seen]
        self._weights = np.clip(self._weights, self._lowest, self._highest)

    @property
    def omega(self) -> Array:
        """How much less each feature's changes help than expected, (M,): 0 as expected, 1 not at all."""
        return self._weights[FEATURES:][: self._features]

    @property
    def difficulty(self) -> Array:
        """How many times as hard as assumed each feature's changes are, (M,)."""
        return self._effort.difficulty

    @property
    def _effort(self) -> effort.Effort:
        """The effort of changes, as outcomes have corrected it."""
        return effort.Effort(self._weights[EFFORT], self._weights[FEATURES + self._features :])

    @property
    def has_learned_execution(self) -> bool:
        """Whether outcomes have taught it at least half of what was uncertain: the variance of kappa is halved."""
        return self._covariance.item(EFFORT, EFFORT) <= PRIOR_SD[EFFORT] ** 2 / 2.0

    @property
    def beliefs(self) -> FeatureBeliefs:
        """Omega and difficulty of the M features, and of which of them outcomes tell anything."""
        omega_sd, delta_sd = np.sqrt(self._covariance.diagonal()[FEATURES:].reshape(2, -1))
        of_omega, of_delta = self._information.diagonal()[FEATURES:].reshape(2, -1) > 0.0
        # The logarithm is kappa + log(1 + delta).
        slope = 1.0 / (1.0 + self._effort.features)
        both = self._covariance[EFFORT, FEATURES + self._features :]
        variance = self._covariance[EFFORT, EFFORT] + slope * (2.0 * both + slope * delta_sd**2)
        return FeatureBeliefs(self.omega.copy(), omega_sd, self.difficulty, np.sqrt(variance), of_omega | of_delta)

    @classmethod
    def beliefs_of(cls, state: State, *, doubts_level: bool = False) -> FeatureBeliefs:
        """The beliefs of a learner with this state about its features."""
        learner = cls(np.zeros((len(state["arm_target"]), 1)), 1)
        learner.equip(features=(len(state["target"]) - FEATURES) // 2)
        if doubts_level:
            learner.doubt_level()
        learner.restore(state)
        return learner.beliefs

    def expected_reward(self, pull: Pull) -> float | None:
        """The expected reward at the pick; None of a pull without a context, which is another learner's."""
        return self._read(pull.context)[0][0] if pull.context else None

    @classmethod
    def expected_help(cls, context: bytes) -> float | None:
        """By the derivative of its logarithm by a, which is what is missing to 1, and what is particular to the arm."""
        if not context:
            return None
        values = np.frombuffer(context)
        return float(min((1.0 - values[cls.numbers + LEVEL]) * np.exp(values[OWN]), 1.0))

    def learned_help(self, pick: Pick) -> LearnedHelp | None:
        r"""By the posterior covariance of the weights $a$, $s$ and $\omega$, and the gradient of the log odds by them.

        The gradient of $\log \sigma(z)$ is that of $z$ times $1 - \sigma(z)$, which is the derivative by $a$.
        """
        if not pick.context:
            return None
        (_, _, arm_effect, *_), gradient = self._read(pick.context)
        fails = max(gradient.item(LEVEL), LEAST_FAILS)
        of_help = np.zeros_like(gradient)
        of_help[[LEVEL, SLOPE]] = gradient[[LEVEL, SLOPE]]
        of_help[FEATURES : FEATURES + self._features] = gradient[FEATURES : FEATURES + self._features]
        of_help /= fails
        of_arm = self.arm_sd**2 / (1.0 + self._arm_evidence.item(0, pick.arm) * self.arm_sd**2)
        variance = of_help @ self._covariance @ of_help + of_arm / fails**2
        helps = min((1.0 - fails) * math.exp(arm_effect), 1.0)
        return LearnedHelp(helps, math.sqrt(variance), 1.0 + self._weights.item(SLOPE))

    def worth(self, options: Options, random: Random) -> Array:
        """The expected rewards, with some optimism."""
        expected, arm_effect, deviation = self._compared(options)
        return np.maximum(np.exp(expected.log_reward + arm_effect) * (1.0 + self.optimism * deviation), 0.0)

    def pick(self, options: Options, random: Random) -> Pick:
        """Pick the option of the largest expected reward, with some optimism."""
        (log_reward, gradient, execution), arm_effect, deviation = self._compared(options)
        reward = np.exp(log_reward + arm_effect)
        best = int((reward * (1.0 + self.optimism * deviation)).argmax())
        expected, slopes = min(reward.item(best), MOST_EXPECTED), gradient[best]
        numbers = [
            expected,
            slopes @ self._weights,
            arm_effect.item(best),
            *self._more_numbers(slopes, execution.item(best)),
        ]
        context = np.concatenate([numbers, self._packed(slopes)])
        return Pick(options.arm.item(best), 1.0, min(execution.item(best), 1.0), context.tobytes())

    def _more_numbers(self, gradient: Array, execution: float) -> tuple[float, ...]:
        """The numbers that a pull's context has beside those of every such learner."""
        return ()

    def update(self, pull: Pull, reward: float) -> None:
        """Learn from a pull; a reward between 0 and 1 counts in part.

        Of a pull without a context, which is another learner's, nothing is learned. Raise ``ValueError`` for a context
        that is not one of such a learner.
        """
        if not pull.context:
            return
        (expected, predictor, arm_effect, *_), gradient = self._read(pull.context)
        weight, score = expected / (1.0 - expected), (reward - expected) / (1.0 - expected)
        self._information += rounded(weight * np.outer(gradient, gradient))
        self._target += rounded((weight * predictor + score) * gradient)
        self._arm_evidence[:, pull.arm] += rounded(np.array([weight, weight * arm_effect + score]))
        self._solve()

    def retract(self, pull: Pull) -> None:
        """Do nothing: a pull counts when its outcome comes."""

    def state(self) -> dict[str, NDArray[Any]]:
        """``information`` (W, W) and ``target`` (W,) of the W = 4 + 2M weights, and those of the arms (K,)."""
        information, score = self._arm_evidence.copy()
        return {
            "information": self._information.copy(),
            "target": self._target.copy(),
            "arm_information": information,
            "arm_target": score,
        }

    def restore(self, state: State) -> None:
        """Continue exactly where a learner of the same arms, features and parameters stood."""
        self.check_state(state)
        if not self._is_of_outcomes(state["information"], state["arm_information"]):
            raise ValueError("the state's information is not that of any outcomes: it is damaged")
        self._information, self._target = state["information"].copy(), state["target"].copy()
        self._arm_evidence = np.stack([state["arm_information"], state["arm_target"]])
        self._solve()

    def _is_of_outcomes(self, information: Array, of_arms: Array) -> bool:
        """Whether outcomes can have taught this: no variance is negative."""
        try:
            np.linalg.cholesky(information + np.diag(self._precision))
        except np.linalg.LinAlgError:
            return False
        return np.array_equal(information, information.T) and not (of_arms < 0.0).any()

    def _expected(self, options: Options) -> Expected:
        """The expectation of F options by the weights without those of the arms."""
        log_odds, effects, efforts = options.outlook or _unknown(options.number, self._features)
        level, slope, _, reported = self._weights[:FEATURES]
        omega = self._weights[FEATURES:][: self._features]
        log_odds = log_odds - effects @ omega
        log_help = -np.logaddexp(0.0, -(level + (1.0 + slope) * log_odds))
        fails = 1.0 - np.exp(log_help)
        log_execution, slopes = self._effort.log_execution(effort.assumed_effort(options.execution), efforts)
        shared = np.stack([fails, fails * log_odds, log_execution, np.ones(options.number)], axis=1)
        of_features = -(1.0 + slope) * fails[:, np.newaxis] * effects, slopes
        gradient = np.concatenate([shared, *of_features], axis=1)
        return Expected(log_help + log_execution + reported, gradient, np.exp(log_execution))

    def _compared(self, options: Options) -> tuple[Expected, Array, Array]:
        """The expectation of F options, the part particular to their arms, and the standard deviations, (F,) each."""
        expected = self._expected(options)
        information, target = self._arm_evidence[:, options.arm]
        arm_variance = self.arm_sd**2 / (1.0 + information * self.arm_sd**2)
        gradient = expected.gradient
        variance = np.einsum("fw,wv,fv->f", gradient, self._covariance, gradient) + arm_variance
        return expected, target * arm_variance, np.sqrt(variance)

    def _packed(self, gradient: Array) -> Array:
        """The gradient (W,) without the zeros of features that stay: its first weights, then feature by feature."""
        of_features = gradient[FEATURES:].reshape(2, -1)
        changed = np.flatnonzero(of_features.any(axis=0))
        return np.concatenate([gradient[:FEATURES], np.stack([changed, *of_features[:, changed]], axis=1).ravel()])

    def _read(self, context: bytes) -> tuple[list[float], Array]:
        """The numbers packed by a pick, as ``numbers`` counts them, and the gradient (W,)."""
        values, first = np.frombuffer(context), self.numbers + FEATURES
        parts = values[first:]
        changed = parts[::3].astype(np.intp)
        if len(values) < first or len(parts) % 3 or (changed >= self._features).any():
            raise ValueError(f"a context of {len(context)} bytes is not of a {self.name} of {self._features} features")
        gradient = np.zeros(len(self._target))
        gradient[:FEATURES] = values[self.numbers : first]
        for side in range(2):
            gradient[FEATURES + side * self._features + changed] = parts[1 + side :: 3]
        return values[: self.numbers].tolist(), gradient


def _unknown(options: int, features: int) -> Outlook:
    """The outlook of options of which nothing is known but their execution probabilities."""
    none = np.zeros((options, features))
    return Outlook(np.zeros(options), none, none)
