"""The lessons of outcomes and answers, as sums whose order does not matter."""

from __future__ import annotations

import numpy as np

from .arrays import Array

EVIDENCE_UNIT = 2.0**-20
"""Evidence is added in multiples of it where sums are to be exact, so that their order does not matter."""


def rounded(evidence: Array) -> Array:
    """Evidence as the nearest multiples of the unit."""
    return np.asarray(np.rint(evidence / EVIDENCE_UNIT) * EVIDENCE_UNIT)
