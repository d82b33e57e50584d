"""Bundles of older versions keep what was measured as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....schemas.unlabelled import Unlabelled
from .measured import (
    Approvals,
    Data,
    Doubts,
    EqualMargin,
    Lasted,
    Lasting,
    Margin,
    Measured,
    Promised,
    Quality,
    Served,
)

Metrics = Mapping[str, float]

QUALITY = ("accuracy", "balanced_accuracy", "roc_auc", "brier_score", "approval_rate", "desired_rate")


def measured_by(metrics: Metrics) -> Measured:
    """What the numbers say; a measure of which one lacks is None."""
    return Measured(
        _quality(metrics),
        _data(metrics),
        _served(metrics),
        Margin(metrics["retrained_accept"]) if "retrained_accept" in metrics else None,
        _promised(metrics),
        _lasting(metrics),
        _named(metrics, "protected:"),
        _doubts(metrics),
    )


def _quality(metrics: Metrics) -> Quality | None:
    if not _has(metrics, (*QUALITY, "held_out_rows")):
        return None
    return Quality(
        **{name: metrics[name] for name in QUALITY},
        held_out_rows=int(metrics["held_out_rows"]),
        training_rows=_count(metrics, "training_rows"),
        just_above=metrics.get("just_above"),
    )


def _data(metrics: Metrics) -> Data | None:
    if "instances" not in metrics:
        return None
    rows = _count(metrics, "unlabelled_rows")
    read, unusable = _count(metrics, "unlabelled_rows_read"), _count(metrics, "unlabelled_rows_unusable")
    approvals = ("approval_rate_labelled", "approval_rate_unlabelled")
    return Data(
        int(metrics["instances"]),
        _count(metrics, "fewest_alike"),
        None if rows is None else Unlabelled(rows, read, unusable),
        Approvals(*(metrics[name] for name in approvals)) if _has(metrics, approvals) else None,
        {name: int(count) for name, count in _named(metrics, "broken:").items()},
    )


def _served(metrics: Metrics) -> Served | None:
    if not _has(metrics, ("rejected_sampled", "without_option")):
        return None
    return Served(
        int(metrics["rejected_sampled"]),
        metrics["without_option"],
        metrics.get("without_option_at_threshold"),
        metrics.get("without_option_breaking", 0.0),
        metrics.get("only_below_the_floor"),
        metrics.get("only_up_to_a_point"),
        metrics.get("round_score"),
        metrics.get("without_option_in_round"),
        _named(metrics, "only_way:"),
        metrics.get("many_changes"),
    )


def _promised(metrics: Metrics) -> Promised | None:
    means = _named(metrics, "promise_")
    names = ("equal_margin", "equal_margin_cost", "equal_margin_promised_cost", "equal_margin_accepted")
    equal = EqualMargin(*(metrics[name] for name in names)) if _has(metrics, names) else None
    return Promised(means, equal) if means or equal else None


def _lasting(metrics: Metrics) -> Lasting | None:
    facts = _named(metrics, "lasting:")
    rules = dict.fromkeys(name.rpartition(":")[0] for name in facts if ":" in name)
    found = {}
    for rule in rules:
        names = [f"{rule}:{fact}" for fact in Lasted.__struct_fields__]
        if _has(facts, names):
            found[rule] = Lasted(*(facts[name] for name in names))
    return Lasting(int(facts.get("models", 0)), int(facts.get("people", 0)), found) if found else None


def _doubts(metrics: Metrics) -> Doubts | None:
    kinds = ("computed_broken: ", "computed_undefined: ", "effect_against: ")
    doubts = Doubts(*(_named(metrics, kind) for kind in kinds))
    return None if doubts == Doubts() else doubts


def _has(metrics: Metrics, names: Sequence[str]) -> bool:
    return all(name in metrics for name in names)


def _count(metrics: Metrics, name: str) -> int | None:
    return int(metrics[name]) if name in metrics else None


def _named(metrics: Metrics, prefix: str) -> dict[str, float]:
    """The numbers whose names begin so, by the rest."""
    return {name.removeprefix(prefix): value for name, value in metrics.items() if name.startswith(prefix)}
