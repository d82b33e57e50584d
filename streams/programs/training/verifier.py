"""Fits the verifier of TAP: a classifier of whether two people have the same label.

References
----------
Friedbaum, J., Adiga, S. and Tandon, R. (2024). Trustworthy Actionable Perturbations. ICML.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..bundle.writer import FittedVerifier
from .seeding import seeded

Floats = NDArray[np.float64]

PAIRS = 10_000
"""Pairs of people, drawn with replacement, that the verifier is fitted on."""

TRUSTED_SHARE = 0.3
"""Share of the pairs with different labels whose distance is within the tolerance."""


def fit_verifier(model: Any, X: Floats, labels: NDArray[np.int64], random: np.random.RandomState) -> FittedVerifier:
    """Fit a verifier of the model's own kind on people (n, D) with labels (n,).

    The tolerance is the ``TRUSTED_SHARE`` quantile of the distance, over the pairs with different labels, between the
    verifier and the agreement that the model's scores imply. Raises ValueError when all pairs have the same label.
    """
    left, right = random.choice(len(X), PAIRS), random.choice(len(X), PAIRS)
    pairs = np.concatenate([X[left], X[right]], axis=1)
    same = (labels[left] == labels[right]).astype(np.int64)
    if same.all():
        raise ValueError("all people have the same label: nothing can be verified")
    estimator = seeded(clone(model), random).fit(pairs, same)
    different = same == 0
    left_score, right_score = (model.predict_proba(X[side[different]])[:, 1] for side in (left, right))
    implied = left_score * right_score + (1.0 - left_score) * (1.0 - right_score)
    distance = np.abs(estimator.predict_proba(pairs[different])[:, 1] - implied)
    return FittedVerifier(estimator, float(np.quantile(distance, TRUSTED_SHARE)))
