"""Fits what says whether changes help (``agents/improvement``) for a new model, and measures its calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score

from ....agents import improvement
from ....agents.improvement import TrainedImprovement
from ....schemas.spec import ProgramSpec
from ..bundle.improvement import FittedImprovement
from ..bundle.manifest import Calibration
from ..objective import needs_improvement

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

DECILES = 10


def measured_improvement(fitted: TrainedImprovement | None, X: Floats, labels: Labels) -> FittedImprovement | None:
    """An estimate with its calibration on rows (n, D) that it was not fitted on; None without one."""
    return None if fitted is None else FittedImprovement(fitted, measured_calibration(fitted, X, labels))


def fit_improvement(
    spec: ProgramSpec, X: Floats, labels: Labels, seed: int, unlabelled: Floats | None = None
) -> TrainedImprovement | None:
    """The estimate of whether changes help, from training rows (n, D) with labels (n,), and from (m, D) without one.

    None where the spec does not ask for it, and where the labels cannot say it.
    """
    if not needs_improvement(spec):
        return None
    method = improvement.registry[spec.policy.improvement]
    if unlabelled is None or not len(unlabelled):
        return method.fit(X, labels, seed)
    return method.fit(X, labels, seed, unlabelled)


def measured_calibration(fitted: TrainedImprovement, X: Floats, labels: Labels) -> Calibration:
    """How far the estimate can be believed, on rows (n, D) that it was not fitted on."""
    p = fitted(X, X)
    parts = np.array_split(np.argsort(p, kind="stable"), min(DECILES, len(p)))
    reliability = tuple((float(p[part].mean()), float(labels[part].mean()), len(part)) for part in parts)
    auc = 0.5 if len(np.unique(labels)) < 2 else float(roc_auc_score(labels, p))
    return Calibration(float(brier_score_loss(labels, p)), auc, reliability)
