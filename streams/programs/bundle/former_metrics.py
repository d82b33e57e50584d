"""Bundles of older versions keep what was measured as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from ....schemas.unlabelled import Unlabelled
from .measured import (
    Approvals,
    Data,
    Doubts,
    EqualMargin,
    Lasted,
    Margin,
    Measured,
    MeasuredLasting,
    Promised,
    Quality,
    Served,
)

Metrics = Mapping[str, float]
S = TypeVar("S", bound=msgspec.Struct)

SERVED = {
    "rejected": "rejected_sampled",
    "at_threshold": "without_option_at_threshold",
    "breaking": "without_option_breaking",
    "below_floor": "only_below_the_floor",
    "up_to_a_point": "only_up_to_a_point",
    "in_round": "without_option_in_round",
}
UNLABELLED = {"rows": "unlabelled_rows", "read": "unlabelled_rows_read", "unusable": "unlabelled_rows_unusable"}
APPROVALS = {"labelled": "approval_rate_labelled", "unlabelled": "approval_rate_unlabelled"}
EQUAL_MARGIN = {"margin": "equal_margin"} | {
    name: f"equal_margin_{name}" for name in ("cost", "promised_cost", "accepted")
}
DOUBTS = {"broken": "computed_broken: ", "undefined": "computed_undefined: ", "against": "effect_against: "}


def measured_by(metrics: Metrics) -> Measured:
    """What the numbers say; a measure of which one lacks is None."""
    metrics = {name: int(number) if float(number).is_integer() else number for name, number in metrics.items()}
    parts = {
        "unlabelled": _struct(Unlabelled, metrics, UNLABELLED),
        "approvals": _struct(Approvals, metrics, APPROVALS),
        "broken": _named(metrics, "broken:"),
    }
    means, equal = _named(metrics, "promise_"), _struct(EqualMargin, metrics, EQUAL_MARGIN)
    doubts = Doubts(**{field: _named(metrics, prefix) for field, prefix in DOUBTS.items()})
    return Measured(
        _struct(Quality, metrics),
        _struct(Data, {"instances": 0, **metrics}, {}, parts)
        if metrics.keys() & {"instances", "fewest_alike"}
        else None,
        _struct(Served, metrics, SERVED, {"only_ways": _named(metrics, "only_way:")}),
        _struct(Margin, metrics, {"accepted": "retrained_accept"}),
        Promised(means, equal) if means or equal else None,
        _lasting(_named(metrics, "lasting:")),
        _named(metrics, "protected:"),
        None if doubts == Doubts() else doubts,
    )


def _lasting(facts: Metrics) -> MeasuredLasting | None:
    rules = dict.fromkeys(name.rpartition(":")[0] for name in facts if ":" in name)
    lasted = {rule: _struct(Lasted, _named(facts, f"{rule}:")) for rule in rules}
    return _struct(
        MeasuredLasting,
        facts,
        {},
        {"rules": {rule: lasting for rule, lasting in lasted.items() if lasting is not None}},
    )


def _struct(
    kind: type[S], metrics: Metrics, names: Mapping[str, str] = {}, more: Mapping[str, object] = {}
) -> S | None:
    """The struct of the numbers by its fields' ``names``, which are their own by default; None where one lacks."""
    fields = (field.name for field in msgspec.structs.fields(kind))
    found = {field: metrics[name] for field in fields if (name := names.get(field, field)) in metrics}
    try:
        return msgspec.convert({**found, **more}, kind)
    except msgspec.ValidationError:
        return None


def _named(metrics: Metrics, prefix: str) -> dict[str, float]:
    """The numbers whose names begin so, by the rest."""
    return {name.removeprefix(prefix): value for name, value in metrics.items() if name.startswith(prefix)}
