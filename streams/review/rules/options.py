"""What options ask for: more than people can do, or something that only works up to a point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import UNSET

from ....schemas.draft.features import COUNTED
from ..evidence import FEWEST, Evidence
from . import Finding

DOUBLE = 2.0
OFTEN = 0.25
"""The share of a feature's options from which something is no exception."""


def doubles(evidence: Evidence) -> Iterator[Finding]:
    """Numbers that at least double in half of the options that change them. The figure is the median factor.

    Whole numbers of a few units are counted: two of them are twice one.
    """
    for name, changes in evidence.changes.items():
        number = evidence.number_of(name)
        feature = evidence.spec.features[number]
        if feature.bounds is None or (feature.type == "integer" and np.ptp(feature.bounds) < COUNTED):
            continue
        pairs = [(float(change.change.current), float(change.change.target)) for change in changes]
        factors = [to / now for now, to in pairs if 0.0 < now < to]
        if len(factors) < FEWEST or (median := float(np.median(factors))) < DOUBLE:
            continue
        text = (
            f"{name}: half of the {len(factors)} options that raise it ask for {median:.3g} times as much or more, the "
            f"largest for {max(factors):.3g} times: give a smaller `max_change`"
        )
        yield Finding(("features", number, "max_change"), median, text, name)


def up_to_a_point(evidence: Evidence) -> Iterator[Finding]:
    """Features of which more than was told may be rejected. The figure is the share of their options that say so."""
    for name, changes in evidence.changes.items():
        limited = sum(change.change.at_most is not UNSET for change in changes)
        if limited < FEWEST or limited < OFTEN * len(changes):
            continue
        text = (
            f"{name}: {limited} of {len(changes)} options work only up to a point: the model rejects people who do "
            "more; write `policy: {overshoot: refuse}`, or train a model that more does not harm"
        )
        yield Finding(("features", evidence.number_of(name)), limited / len(changes), text, name)
