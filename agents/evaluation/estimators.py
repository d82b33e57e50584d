"""Off-policy estimates of a policy's mean reward from the log of another, with normal intervals.

A step may suggest several options, of which the person takes up one at most. Then an option's reward is assumed to
depend on whether it is suggested, not on the others beside it. So each option is weighted by the probability that the
log's policy suggests it (Li et al. 2018, the document-based click model).

References
----------
Horvitz, D. G. and Thompson, D. J. (1952). A Generalization of Sampling Without Replacement. JASA.
Swaminathan, A. and Joachims, T. (2015). The Self-Normalized Estimator for Counterfactual Learning. NeurIPS.
Dudik, M., Langford, J. and Li, L. (2011). Doubly Robust Policy Evaluation and Learning. ICML.
Li, S., Abbasi-Yadkori, Y., Kveton, B., Muthukrishnan, S., Vinay, V. and Wen, Z. (2018). Offline Evaluation of Ranking
Policies with Click Models. KDD.
Owen, A. B. (2013). Monte Carlo theory, methods and examples, chapter 9: the delta method for ratios, effective sizes
by the second and the third moment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Mask

NORMAL_95 = 1.959963984540054
MIN_EFFECTIVE = 100.0
"""With a smaller effective sample, the normal interval is too narrow (``docs/evaluate.md``)."""

MIN_RARE = 10.0
"""With fewer effective rare outcomes, the estimate is too skewed for a normal interval."""

BALANCE_ERRORS, BALANCE_SLACK = 4.0, 0.01
"""The mean weight may differ from 1 by this many standard errors plus the slack; beyond, explored steps are missing."""


class Log(NamedTuple):
    """n steps of a log. All arrays are (n,).

    The logged options of a step have rewards r in [0, 1], propensities p (the probability that the log's policy
    suggests them) and expected rewards q, which do not depend on this step's rewards. Sums over those that the
    evaluated policy suggests too are ``weight``, of 1 / p, ``weighted``, of r / p, and ``expected``, of q / p.

    ``reward`` is the sum of r over all logged options. ``size`` is the number of the evaluated policy's options,
    ``wanted`` the sum of their q. ``unsupported`` says that the log's policy never suggests one of them.

    ``explored`` are the steps at which the log's policy could have suggested something else, ``fixed`` those at which
    it could not, though there was something else.
    """

    reward: Array
    weight: Array
    weighted: Array
    expected: Array
    wanted: Array
    size: Array
    unsupported: Mask
    explored: Mask
    fixed: Mask


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
    are right. Where the evaluated policy picks an option that the log's never picks there, all ``fixed`` steps are left
    out of ``steps`` and of all else, and ``unexplored`` counts them: by the log alone, since the steps at which the
    policies happen to agree would hide how far they are apart. ``gain`` is the doubly robust difference between the
    evaluated and the logged mean reward. When the estimates would be meaningless they are None, and ``doubt`` gives the
    reason.
    """

    steps: int
    matched: int
    unexplored: int
    effective: float
    mean_weight: float
    logged: Estimate | None
    ips: Estimate | None
    snips: Estimate | None
    doubly_robust: Estimate | None
    gain: Estimate | None
    doubt: str | None


def evaluate(log: Log) -> Evaluation:
    """Estimate the evaluated policy's mean reward, at the steps at which something is known of what it picks."""
    unsupported, unexplored = int(np.count_nonzero(log.unsupported)), 0
    if unsupported:
        unexplored = int(np.count_nonzero(log.fixed))
        log = Log._make(column[~log.fixed] for column in log)
    weight = log.weight
    steps, matched, explored = len(weight), int(np.count_nonzero(weight)), int(np.count_nonzero(log.explored))
    effective = float(weight.sum() ** 2 / np.square(weight).sum()) if matched else 0.0
    mean_weight = float(weight.sum() / log.size.sum()) if steps else 0.0
    logged = mean(log.reward) if steps > 1 else None
    counts = (steps, matched, unexplored, effective, mean_weight, logged)
    doubt = (
        _support(unsupported, unexplored, explored)
        or _overlap(steps, matched, effective)
        or _balance(mean(weight / log.size.mean()))
        or _rewards(log)
    )
    if doubt is not None:
        return Evaluation(*counts, None, None, None, None, doubt)
    corrected = log.wanted + log.weighted - log.expected
    return Evaluation(
        *counts,
        mean(log.weighted),
        snips(log),
        mean(corrected),
        mean(corrected - log.reward),
        None,
    )


def mean(terms: Array) -> Estimate:
    """The mean of n > 1 terms.

    Of ``weighted`` it is IPS, of ``wanted + weighted - expected`` doubly robust (Dudik et al. 2011).
    """
    return Estimate(float(terms.mean()), float(terms.std(ddof=1)) / math.sqrt(len(terms)))


def snips(log: Log) -> Estimate:
    """The self-normalised mean of Swaminathan and Joachims (2015); its error by the delta method.

    The weights are normalised to the number of the evaluated policy's options.
    """
    total, size = log.weight.sum(), log.size.mean()
    ratio = log.weighted.sum() / total
    error = np.sqrt(np.square(log.weighted - ratio * log.weight).sum()) / total
    return Estimate(float(ratio * size), float(error * size))


def rare(weight: Array, v: float) -> float:
    """The number of equally weighted rare outcomes that would make a mean as skewed as the self-normalised one.

    Rewards are modelled as 0 or 1, and 1 with the same probability v at every step. Then the sum of w (r - v) has the
    skewness (1 - 2 v) / sqrt(v (1 - v)) * sum w^3 / (sum w^2)^(3/2), and of n rare outcomes it is 1 / sqrt(n).
    """
    if v in (0.0, 1.0):
        return 0.0
    alike = np.square(weight).sum() ** 3 / (weight**3).sum() ** 2
    skewed = (1.0 - 2.0 * v) ** 2 / (v * (1.0 - v))
    return float(alike / skewed) if skewed else math.inf


def _rewards(log: Log) -> str | None:
    """Whether rewards, or failures, are too rare in the whole log.

    The rewards of the steps at which the policies agree must not decide: where few are enough for an estimate by
    chance, it is too high.
    """
    rate = float(log.reward.mean())
    outcomes = rare(log.weight, rate)
    if outcomes >= MIN_RARE:
        return None
    return (
        f"{rate:.2%} of the log's steps have a reward: at the {np.count_nonzero(log.weight)} at which the policies "
        f"agree, as little as {outcomes:.1f} rare outcomes tell by weight, at least {MIN_RARE:g} are needed: log more "
        "steps, or explore more"
    )


def _balance(weight: Estimate) -> str | None:
    if abs(weight.value - 1.0) <= BALANCE_ERRORS * weight.error + BALANCE_SLACK:
        return None
    return (
        f"the mean weight is {weight.value:.3f} (standard error {weight.error:.3f}) and ought to be 1: what was "
        "explored hardly ever agrees with the policy; log more steps, or explore more"
    )


def _support(unsupported: int, unexplored: int, explored: int) -> str | None:
    """Whether more steps are left out than there are to compare the policies by."""
    if unexplored <= explored:
        return None
    return (
        f"at {unsupported} of {unexplored} steps without exploration the policy takes what the log's policy never does "
        f"there, and only {explored} steps have exploration: log with `exploration` above 0"
    )


def _overlap(steps: int, matched: int, effective: float) -> str | None:
    if not steps:
        return "the log has no step whose reward is known"
    if effective < MIN_EFFECTIVE:
        return (
            f"the policies agree at {matched} of {steps} steps, which weigh as much as {effective:.1f}, at least "
            f"{MIN_EFFECTIVE:g} are needed: log more steps, or explore more"
        )
    return None
