"""Beliefs: what a learner has found of single features."""

from __future__ import annotations

from typing import NamedTuple

from ...arrays import Array, Mask


class FeatureBeliefs(NamedTuple):
    """What a learner believes of M features, each (M,).

    ``omega`` is how much less a feature's changes help than expected, 0 as expected and 1 not at all, ``omega_sd`` its
    standard deviation. ``difficulty`` is how many times as hard as assumed the changes are, ``log_difficulty_sd`` the
    standard deviation of its logarithm. ``seen`` is whether any outcome tells something of the feature; the others are
    as before any outcome.
    """

    omega: Array
    omega_sd: Array
    difficulty: Array
    log_difficulty_sd: Array
    seen: Mask
