"""Options that die when the model is trained again, as far as training has measured it."""

from __future__ import annotations

from collections.abc import Iterator

from ...advice import ACCEPTED, LASTING
from ..evidence import Evidence
from . import Finding


def dies(evidence: Evidence) -> Iterator[Finding]:
    """Models of other rows that accept too few of the options. The figure is the share that they accept."""
    share = evidence.manifest.metrics.get("retrained_accept")
    if share is not None and share < ACCEPTED:
        text = f"models trained on other rows of the data accept {share:.0%} of the options: {LASTING}"
        yield Finding(("policy", "margin"), share, text)
