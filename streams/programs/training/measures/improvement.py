"""How far the estimate of whether changes help can be believed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UnsetType

from .....schemas.spec import ProgramSpec
from ...bundle.improvement import FittedImprovement
from ...bundle.manifest import Manifest
from ...objective import needs_improvement
from ...selected_labels import covers_less
from ..improvement import measured_improvement
from ..trained import Trained

FLAT = 1e-9
"""Predictions that differ by less are the same, but for rounding."""


def measure(trained: Trained) -> FittedImprovement | None:
    """The estimate with its calibration on rows that it was not fitted on; None without one."""
    rows = trained.split.held_out
    return measured_improvement(trained.improvement, trained.table.X[rows], trained.table.labels[rows])


def in_words(manifest: Manifest, spec: ProgramSpec) -> Iterator[str]:
    """The estimate of whether an option helps, and how far it can be believed."""
    if not needs_improvement(spec):
        return
    if isinstance(manifest.improvement, UnsetType):
        yield "whether options help: by the model's score, since the labels cannot say it"
        return
    brier, auc, reliability = msgspec.structs.astuple(manifest.improvement.calibration)
    means = [mean for mean, _, _ in reliability]
    if max(means) - min(means) < FLAT:
        yield "whether options help: the labels do not tell it, so options are the easiest that the model accepts"
        return
    observed = " ".join(f"{share:.2f}" for _, share, _ in reliability)
    yield f"whether options help: by the labels, Brier score {brier:.3f}, area under the curve {auc:.3f}"
    yield f"  by tenths of the rows kept aside, predicted: {' '.join(f'{mean:.2f}' for mean in means)}"
    yield f"  by tenths of the rows kept aside, observed:  {observed}"
    if covers_less(manifest.measured):
        yield "  all of these have a label: it says nothing of people unlike them, such as most whom the model rejects"
