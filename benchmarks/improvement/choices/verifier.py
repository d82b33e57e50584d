"""The verifier of TAP: a classifier of whether two people have the same label.

References
----------
Friedbaum, J., Adiga, S. and Tandon, R. (2024). Trustworthy Actionable Perturbations. ICML.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onward.agents.choices.contract import Array
from onward.streams.programs.training.seeding import seeded

PAIRS = 10_000
"""Pairs of people, drawn with replacement, that the verifier is fitted on."""

TRUSTED_SHARE = 0.3
"""Share of the pairs with different labels whose distance is within the tolerance."""


class Verifier(NamedTuple):
    """A classifier of pairs of people, which have the same label or not, beside the decision model.

    ``agreement`` gives the probability that two people have the same label, (n,), for n pairs (n, 2 D): one person's
    columns, then the other's. ``confidence`` is the decision model: the probability of the desired label, (n,), of
    people (n, D). ``tolerance`` is the largest difference that is trusted, between ``agreement`` and the
    model's probability of the same label.
    """

    agreement: Callable[[Array], Array]
    confidence: Callable[[Array], Array]
    tolerance: float

    def disagreement(self, person: Array, targets: Array, confidences: Array) -> Array:
        """The difference between ``agreement`` and the model's probability of the same label, (F,).

        The pairs are a person (D,) and each of the targets (F, D), whose ``confidences`` (F,) are known.

        With confidences p and q the model's probability of the same label is p q + (1 - p)(1 - q).
        """
        pairs = np.concatenate([np.broadcast_to(person, targets.shape), targets], axis=1)
        own = self.confidence(person[None])[0]
        expected = own * confidences + (1.0 - own) * (1.0 - confidences)
        disagreement: Array = np.abs(self.agreement(pairs) - expected)
        return disagreement


class FittedVerifier(NamedTuple):
    """A classifier of pairs (n, 2 D), 1 for the same label, and the largest trusted distance from the model."""

    estimator: Any
    tolerance: float


def fit_verifier(model: Any, X: Array, labels: NDArray[np.int64], random: np.random.RandomState) -> FittedVerifier:
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
