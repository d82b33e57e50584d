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
LEAST_EFFECTIVE = 100.0
"""Of fewer steps than this, by weight, the normal interval promises too much (``docs/evaluate.md``)."""

LEAST_RARE = 10.0
"""With fewer rare outcomes than this, by weight, the estimate is too lopsided for a normal interval."""

FAR_ERRORS, FAR = 4.0, 0.01
"""The mean weight is too far from 1 beyond so many of its standard errors and this: what explored may be missing."""


class Log(NamedTuple):
    """n steps of a log. All arrays are (n,).

    ``reward`` r lies in [0, 1]. ``propensity`` p is the probability with which the log's policy took what it took,
    ``target`` pi that with which the evaluated one takes it. ``taken`` is the reward that is expected of what was
    taken, ``wanted`` that of what the evaluated policy takes; neither may know anything of this step's reward.
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
    """What a log says. ``effective`` is its size by weight, (sum w)^2 / sum w^2, and ``mean_weight`` is near 1 when the
    propensities are right. ``unsupported`` counts the steps at which the evaluated policy takes what the log's never
    does. ``gain`` is what the evaluated policy earns more than the log's, doubly robust. Where ``doubt`` says why,
    the estimates would mean nothing and are None."""

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
    # Where the log's policy was certain of what it took, it never takes anything else.
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
    """How many rare outcomes, alike in weight, would make a mean as skewed as these make the self-normalised one.

    The rewards are taken to be 0 or 1, and 1 with the same chance v at every step. Then w (r - v) summed up has the
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
    if found >= LEAST_RARE:
        return None
    agree = weight > 0
    return (
        f"{np.count_nonzero(reward[agree])} of the {np.count_nonzero(agree)} steps at which the policies agree have a "
        f"reward: by weight as little as {found:.1f} rare outcomes tell, at least {LEAST_RARE:g} are needed: log more "
        "steps, or explore more"
    )


def _balance(weight: Estimate) -> str | None:
    if abs(weight.value - 1.0) <= FAR_ERRORS * weight.error + FAR:
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
    if effective < LEAST_EFFECTIVE:
        return (
            f"the {matched} steps at which the policies agree weigh as much as {effective:.1f}, at least "
            f"{LEAST_EFFECTIVE:g} are needed: log more steps, or explore more"
        )
    return None
