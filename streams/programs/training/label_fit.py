"""How well scores go with labels, and which differences between such fits count."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

CLEARLY = 0.05
"""The least difference of areas under the curve, or of Brier scores, that counts."""


class Fit(NamedTuple):
    """How well scores agree with labels: the area under the curve, and the Brier score."""

    auc: float
    brier: float

    def __str__(self) -> str:
        return f"area under the curve {self.auc:.2f}, Brier score {self.brier:.2f}"


def fit_of(scores: Floats, labels: Labels) -> Fit:
    """The fit of scores (n,) to labels (n,). Labels that are all alike say nothing of an order."""
    auc = float(roc_auc_score(labels, scores)) if 0 < labels.sum() < len(labels) else 0.5
    return Fit(auc, float(brier_score_loss(labels, scores.clip(0.0, 1.0))))


def clearly(labels: Labels) -> float:
    """The difference of areas under the curve that is no accident of these labels (n,).

    It is twice the standard error of an area of .5, or ``CLEARLY`` where that is more.
    """
    good = int(labels.sum())
    bad = len(labels) - good
    return max(CLEARLY, 2.0 * math.sqrt((good + bad + 1) / (12 * good * bad))) if good and bad else 1.0
