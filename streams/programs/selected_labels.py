"""What the labels of a model do not cover, by the metrics of its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...agents.promises import whole_percent
from ...schemas.table import READ

APPROVED, OTHERS_APPROVED = "approval_rate_labelled", "approval_rate_unlabelled"
"""The shares of the people whom the model approves: of its judged rows with a label, and of those without one."""
CLEARLY_FEWER = 0.1
"""By how much the model approves fewer people without a label, so that labels are said to be of the approved."""
ALL_AGREE = 0.99
"""The share of judged rows in which labels and the model's decisions are the same, of labels that may be decisions."""
FEWEST_JUDGED = 100


def selected_in_words(metrics: Mapping[str, float]) -> Iterator[str]:
    """What labels do not cover: that they are of the approved alone, or are decisions themselves."""
    of_labelled, of_others = metrics.get(APPROVED), metrics.get(OTHERS_APPROVED)
    if of_labelled is not None and of_others is not None:
        shares = (
            f"the model approves {whole_percent(of_labelled)} of the people with a label and "
            f"{whole_percent(of_others)} of the {metrics[READ]:.0f} without one"
        )
        if covers_less(metrics):
            yield (
                f"labels seem to be of approved people only: {shares}. What is said of calibration holds for people "
                "like those with a label; of those whom the model rejects only outcomes of carried out options can say "
                "more, and help may be far less probable than is told until they come"
            )
        else:
            yield f"labels are missing of people who are judged alike: {shares}"
    if _are_decisions(metrics):
        yield (
            f"labels and the model's decisions agree in {whole_percent(metrics['accuracy'])} of the rows kept aside: "
            "labels that record decisions, or call everybody bad who was rejected, say nothing of what came of the "
            "rejected; leave these cells empty and write `label: {missing: unlabelled}`"
        )


def covers_less(metrics: Mapping[str, float]) -> bool:
    """Whether what a model was measured by has a label, and people without one are others by the model's approvals."""
    return APPROVED in metrics and metrics.get(OTHERS_APPROVED, 1.0) < metrics[APPROVED] - CLEARLY_FEWER


def _are_decisions(metrics: Mapping[str, float]) -> bool:
    """Whether labels may be decisions: the model approves as many as have the wanted label, and the same people."""
    agree, rows = metrics.get("accuracy", 0.0), metrics.get("held_out_rows", 0.0)
    approved, desired = metrics.get("approval_rate", 0.0), metrics.get("desired_rate", 1.0)
    return rows >= FEWEST_JUDGED and agree >= ALL_AGREE and abs(approved - desired) <= 1.0 - ALL_AGREE
