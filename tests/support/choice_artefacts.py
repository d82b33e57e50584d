"""What choices need that are no part of programs."""

from __future__ import annotations

import numpy as np

from onward.benchmarks.improvement.choices import Verifier
from onward.testing.choices.learners import GIVEN


def agreement(pairs: np.ndarray) -> np.ndarray:
    """A verifier's estimate: the closer two people are in the first column, the likelier is the same label."""
    estimate: np.ndarray = 1.0 - np.abs(pairs[:, 0] - pairs[:, pairs.shape[1] // 2])
    return estimate


def confidence(people: np.ndarray) -> np.ndarray:
    return people[:, 0]


VERIFIER = Verifier(agreement, confidence, tolerance=0.2)
"""Trusts some options, and for some people none."""

ARTEFACTS = {"verifier": VERIFIER, **GIVEN}
