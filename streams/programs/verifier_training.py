"""Fits TAP's verifier: a classifier that tells whether two people have the same label.

References
----------
Friedbaum, J., Adiga, S. and Tandon, R. (2024). Trustworthy Actionable Perturbations. ICML.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

Floats = NDArray[np.float64]

PAIRS = 10_000
"""Pairs of people, drawn with replacement, that the verifier is fitted on."""

TRUSTED_SHARE = 0.3
"""Share of the pairs with different labels that the tolerance lets pass."""


class FittedVerifier(NamedTuple):
    """A classifier of pairs (n, 2 D), 1 when both have the same label, and how far it may be from the model."""

    estimator: Any
    tolerance: float


def fit_verifier(model: Any, X: Floats, labels: NDArray[np.int64], random: np.random.RandomState) -> FittedVerifier:
    """Fit a verifier of the model's own kind on people (n, D) with labels (n,).

    The tolerance is such that of the pairs with different labels a fixed share is trusted. Raises ValueError when all
    pairs have the same label.
    """
    left, right = random.choice(len(X), PAIRS), random.choice(len(X), PAIRS)
    pairs = np.concatenate([X[left], X[right]], axis=1)
    same = (labels[left] == labels[right]).astype(np.int64)
    if same.all():
        raise ValueError("all people have the same label: nothing can be verified")
    estimator = clone(model).set_params(random_state=random).fit(pairs, same)
    apart = same == 0
    one, other = (model.predict_proba(X[side[apart]])[:, 1] for side in (left, right))
    expected = one * other + (1.0 - one) * (1.0 - other)
    doubt = np.abs(estimator.predict_proba(pairs[apart])[:, 1] - expected)
    return FittedVerifier(estimator, float(np.quantile(doubt, TRUSTED_SHARE)))
