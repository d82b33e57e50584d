"""What the labels of a model do not cover."""

from __future__ import annotations

from collections.abc import Iterator

from ...agents.promises import whole_percent
from .bundle.measured import Measured, Quality

CLEARLY_FEWER = 0.1
"""By how much the model approves fewer people without a label, so that labels are said to be of the approved."""
ALL_AGREE = 0.99
"""The share of judged rows in which labels and the model's decisions are the same, of labels that may be decisions."""
FEWEST_JUDGED = 100


def selected_in_words(measured: Measured) -> Iterator[str]:
    """What labels do not cover: that they are of the approved alone, or are decisions themselves."""
    data, quality = measured.data, measured.quality
    if data is not None and data.approvals is not None and data.unlabelled is not None:
        shares = (
            f"the model approves {whole_percent(data.approvals.labelled)} of the people with a label and "
            f"{whole_percent(data.approvals.unlabelled)} of the {data.unlabelled.read} without one"
        )
        if covers_less(measured):
            yield (
                f"labels seem to be of approved people only: {shares}. What is said of calibration holds for people "
                "like those with a label; of those whom the model rejects only outcomes of carried out options can say "
                "more, and help may be far less probable than is told until they come"
            )
        else:
            yield f"labels are missing of people who are judged alike: {shares}"
    if quality is not None and _are_decisions(quality):
        yield (
            f"labels and the model's decisions agree in {whole_percent(quality.accuracy)} of the rows kept aside: "
            "labels that record decisions, or call everybody bad who was rejected, say nothing of what came of the "
            "rejected; leave these cells empty and write `label: {missing: unlabelled}`"
        )


def covers_less(measured: Measured) -> bool:
    """Whether what a model was measured by has a label, and people without one are others by the model's approvals."""
    if measured.data is None or measured.data.approvals is None:
        return False
    return measured.data.approvals.unlabelled < measured.data.approvals.labelled - CLEARLY_FEWER


def _are_decisions(quality: Quality) -> bool:
    """Whether labels may be decisions: the model approves as many as have the wanted label, and the same people."""
    differ = abs(quality.approval_rate - quality.desired_rate)
    return quality.held_out_rows >= FEWEST_JUDGED and quality.accuracy >= ALL_AGREE and differ <= 1.0 - ALL_AGREE
