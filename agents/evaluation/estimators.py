"""Off-policy estimates of a policy's mean reward from the log of another, with normal intervals.

References
----------
Horvitz, D. G. and Thompson, D. J. (1952). A Generalization of Sampling Without Replacement. JASA.
Swaminathan, A. and Joachims, T. (2015). The Self-Normalized Estimator for Counterfactual Learning. NeurIPS.
Dudik, M., Langford, J. and Li, L. (2011). Doubly Robust Policy Evaluation and Learning. ICML.
Owen, A. B. (2013). Monte Carlo theory, methods and examples, chapter 9: the delta method for ratios, effective sizes
by the second and the third moment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NORMAL_95 = 1.959963984540054
MIN_EFFECTIVE = 100.0
"""With a smaller effective sample, the normal interval is too narrow (``docs/evaluate.md``)."""

MIN_RARE = 10.0
"""With fewer effective rare outcomes, the estimate is too skewed for a normal interval."""

BALANCE_ERRORS, BALANCE_SLACK = 4.0, 0.01
"""The mean weight may differ from 1 by this many standard errors plus the slack; beyond, explored steps are missing."""


class Log(NamedTuple):
    """n steps of a log. All arrays are (n,).

    ``reward`` r lies in [0, 1]. ``propensity`` p is the probability with which the log's policy picked its option,
    ``target`` pi the probability with which the evaluated policy picks the same one. ``taken`` is the expected reward
    of the logged option, ``wanted`` that of the evaluated policy's; neither depends on this step's reward.
    """

    reward: Array
    propensity: Array
    target: Array
    taken: Array
    wanted: Array


class Estimate(NamedTuple):
    """A mean and its standard error."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.value - NORMAL_95 * self.error

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.value + NORMAL_95 * self.error


class Evaluation(NamedTuple):
    """The estimates from a log.

    ``effective`` is the effective sample size (sum w)^2 / sum w^2, and ``mean_weight`` is near 1 when the propensities
    are right. ``unsupported`` counts the steps at which the evaluated policy picks an option that the log's never
    picks. ``gain`` is the doubly robust difference between the evaluated and the logged mean reward. When the estimates
    would be meaningless they are None, and ``doubt`` gives the reason.
    """

    steps: int
    matched: int
    unsupported: int
    effective: float
    mean_weight: float
    logged: Estimate | None
    ips: Estimate | None
    snips: Estimate | None
    doubly_robust: Estimate | None
    gain: Estimate | None
    doubt: str | None


def evaluate(log: Log) -> Evaluation:
    """Estimate the evaluated policy's mean reward."""
    weight = log.target / log.propensity
    steps, matched = len(weight), int(np.count_nonzero(weight))
    # A logged policy with propensity 1 never picks another option.
    unsupported = int(np.count_nonzero((log.propensity >= 1.0) & (log.target < 1.0)))
    effective = float(weight.sum() ** 2 / np.square(weight).sum()) if matched else 0.0
    mean_weight = float(weight.mean()) if steps else 0.0
    logged = mean(log.reward) if steps > 1 else None
    found = (steps, matched, unsupported, effective, mean_weight, logged)
    doubt = _overlap(steps, matched, unsupported, effective) or _balance(mean(weight)) or _outcomes(weight, log.reward)
    if doubt is not None:
        return Evaluation(*found, None, None, None, None, doubt)
    corrected = log.wanted + weight * (log.reward - log.taken)
    return Evaluation(
        *found,
        mean(weight * log.reward),
        snips(weight, log.reward),
        mean(corrected),
        mean(corrected - log.reward),
        None,
    )


def mean(terms: Array) -> Estimate:
    """The mean of n > 1 terms. Of w r it is IPS, of q(wanted) + w (r - q(taken)) doubly robust (Dudik et al. 2011)."""
    return Estimate(float(terms.mean()), float(terms.std(ddof=1)) / math.sqrt(len(terms)))


def snips(weight: Array, reward: Array) -> Estimate:
    """The self-normalised mean of Swaminathan and Joachims (2015); its error by the delta method."""
    total = weight.sum()
    value = float((weight * reward).sum() / total)
    return Estimate(value, float(np.sqrt(np.square(weight * (reward - value)).sum()) / total))


def rare(weight: Array, reward: Array) -> float:
    """The number of equally weighted rare outcomes that would make a mean as skewed as the self-normalised one.

    Rewards are modelled as 0 or 1, and 1 with the same probability v at every step. Then the sum of w (r - v) has the
    skewness (1 - 2 v) / sqrt(v (1 - v)) * sum w^3 / (sum w^2)^(3/2), and of n rare outcomes it is 1 / sqrt(n).
    """
    v = snips(weight, reward).value
    if v in (0.0, 1.0):
        return 0.0
    alike = np.square(weight).sum() ** 3 / (weight**3).sum() ** 2
    skewed = (1.0 - 2.0 * v) ** 2 / (v * (1.0 - v))
    return float(alike / skewed) if skewed else math.inf


def _outcomes(weight: Array, reward: Array) -> str | None:
    found = rare(weight, reward)
    if found >= MIN_RARE:
        return None
    agree = weight > 0
    return (
        f"{np.count_nonzero(reward[agree])} of the {np.count_nonzero(agree)} steps at which the policies agree have a "
        f"reward: by weight as little as {found:.1f} rare outcomes tell, at least {MIN_RARE:g} are needed: log more "
        "steps, or explore more"
    )


def _balance(weight: Estimate) -> str | None:
    if abs(weight.value - 1.0) <= BALANCE_ERRORS * weight.error + BALANCE_SLACK:
        return None
    return (
        f"the mean weight is {weight.value:.3f} (standard error {weight.error:.3f}) and ought to be 1: what was "
        "explored hardly ever agrees with the policy; log more steps, or explore more"
    )


def _overlap(steps: int, matched: int, unsupported: int, effective: float) -> str | None:
    if not steps:
        return "the log has no step whose reward is known"
    if unsupported:
        return (
            f"at {unsupported} of {steps} steps the policy takes what the log's policy never does there, so nothing is "
            "known of it: log with `exploration` above 0"
        )
    if effective < MIN_EFFECTIVE:
        return (
            f"the {matched} steps at which the policies agree weigh as much as {effective:.1f}, at least "
            f"{MIN_EFFECTIVE:g} are needed: log more steps, or explore more"
        )
    return None
