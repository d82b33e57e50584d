"""Bundles of older versions say what was measured by numbers with names."""

from __future__ import annotations

import json

import msgspec

from onward.schemas.unlabelled import Unlabelled
from onward.streams.programs.bundle.manifest import Manifest
from onward.streams.programs.bundle.measured import (
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

FILE = {"file": "f", "size": 1, "sha256": ""}
FORMER = {"program": "p", "version": "v", "estimator": "e", "columns": [], "features": [], "model": FILE}
METRICS = {
    "accuracy": 0.8,
    "balanced_accuracy": 0.7,
    "roc_auc": 0.9,
    "brier_score": 0.1,
    "approval_rate": 0.5,
    "desired_rate": 0.6,
    "held_out_rows": 300.0,
    "training_rows": 600.0,
    "just_above": 0.4,
    "unlabelled_rows": 9.0,
    "unlabelled_rows_read": 7.0,
    "unlabelled_rows_unusable": 2.0,
    "approval_rate_labelled": 0.5,
    "approval_rate_unlabelled": 0.2,
    "instances": 80,
    "retrained_accept": 0.75,
    "rejected_sampled": 50.0,
    "without_option": 0.4,
    "without_option_breaking": 0.1,
    "only_up_to_a_point": 0.2,
    "only_below_the_floor": 0.3,
    "without_option_at_threshold": 0.04,
    "round_score": 0.55,
    "without_option_in_round": 0.6,
    "only_way:income": 0.7,
    "many_changes": 0.05,
    "promise_share": 0.9,
    "equal_margin_accepted": 0.93,
    "equal_margin_promised_cost": 0.2,
    "equal_margin": 0.15,
    "equal_margin_cost": 0.3,
    "lasting:own:share": 0.8,
    "lasting:own:cost": 0.2,
    "lasting:own:relative": 1.0,
    "lasting:own:without": 0.0,
    "lasting:promise: {kind: retrains}:share": 0.95,
    "lasting:promise: {kind: retrains}:cost": 0.3,
    "lasting:promise: {kind: retrains}:relative": 1.5,
    "lasting:promise: {kind: retrains}:without": 0.1,
    "lasting:models": 6.0,
    "lasting:people": 30.0,
    "broken:le: a <= b": 3.0,
    "protected:sex": 0.02,
    "fewest_alike": 5.0,
    "computed_broken: ratio": 0.03,
    "computed_undefined: ratio": 0.01,
    "effect_against: a -> b": -2.0,
}


def decoded(**rest: object) -> Manifest:
    return msgspec.json.decode(json.dumps({**FORMER, "instances": FILE, **rest}), type=Manifest)


def test_every_number_has_its_place() -> None:
    manifest = decoded(metrics=METRICS)
    rules = {"own": Lasted(0.8, 0.2, 1.0, 0.0), "promise: {kind: retrains}": Lasted(0.95, 0.3, 1.5, 0.1)}
    assert manifest.measured == Measured(
        Quality(0.8, 0.7, 0.9, 0.1, 0.5, 0.6, 300, 600, 0.4),
        Data(80, 5, Unlabelled(9, 7, 2), Approvals(0.5, 0.2), {"le: a <= b": 3}),
        Served(50, 0.4, 0.04, 0.1, 0.3, 0.2, 0.55, 0.6, {"income": 0.7}, 0.05),
        Margin(0.75),
        Promised({"share": 0.9}, EqualMargin(0.15, 0.3, 0.2, 0.93)),
        MeasuredLasting(6, 30, rules),
        {"sex": 0.02},
        Doubts({"ratio": 0.03}, {"ratio": 0.01}, {"a -> b": -2.0}),
    )


def test_a_copy_keeps_them_as_they_are_kept_now() -> None:
    manifest = decoded(metrics=METRICS)
    copy = msgspec.json.decode(msgspec.json.encode(manifest), type=Manifest)
    assert copy == manifest
    assert not copy.metrics


def test_what_no_number_says_was_not_measured() -> None:
    assert decoded(metrics={"accuracy": 0.8, "training_rows": 600.0}).measured == decoded().measured == Measured()
