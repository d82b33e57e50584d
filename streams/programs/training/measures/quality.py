"""How good a model is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, roc_auc_score

from .....agents.goals import accepted
from .....schemas.spec import ProgramSpec
from ...bundle.measured import Quality
from ..trained import Trained

FEWEST_ROWS = 30
"""Of fewer rows a share says little."""


def measure(trained: Trained) -> Quality:
    """How good a model is on the ``judged`` rows, and just above the threshold."""
    table, split = trained.table, trained.split
    score, label = trained.model.score(table.X[split.judged]), table.labels[split.judged]
    approved = accepted(score, trained.spec.model.threshold).astype(np.int64)
    return Quality(
        float(accuracy_score(label, approved)),
        float(balanced_accuracy_score(label, approved)),
        float(roc_auc_score(label, score)),
        float(brier_score_loss(label, score)),
        float(approved.mean()),
        float(label.mean()),
        len(split.judged),
        trained.training_rows,
        _just_above(trained.spec, trained.model.score(table.X[split.unseen]), table.labels[split.unseen]),
    )


def _just_above(spec: ProgramSpec, scores: NDArray[np.float64], labels: NDArray[np.int64]) -> float | None:
    """The share of desired labels (n,) among the rows whose scores (n,) the model just accepts.

    Those are the lowest tenth of the accepted ones, and at least ``FEWEST_ROWS``. None where there are fewer, and
    where options need not help.
    """
    above = np.flatnonzero(accepted(scores, spec.model.threshold))
    if spec.policy.least_help is None or len(above) < FEWEST_ROWS:
        return None
    nearest = above[np.argsort(scores[above], kind="stable")][: max(FEWEST_ROWS, len(above) // 10)]
    return float(labels[nearest].mean())
