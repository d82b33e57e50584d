"""Directions in which people are told to go, though the data go the other way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....schemas.draft.association import CONTRADICTING, trend
from ....schemas.draft.codes import codes_of
from ....schemas.draft.columns import Column
from ....schemas.spec import Feature
from ..evidence import FEWEST, Evidence
from . import Finding

ENDS = 0.2
"""The share of rows with the most, and with the least, whose outcomes are compared in words."""
MOSTLY = 0.5
"""The share of a feature's options that go against the data, where the spec allows both directions."""


def against_data(evidence: Evidence) -> Iterator[Finding]:
    """Features that people may raise though those with more have the wanted outcome less often; and the other way.

    The figure is the difference of the shares with the wanted outcome, between people with the most and the least.
    """
    for feature, column in evidence.ordered():
        amounts = column if feature.levels else column.without_codes(codes_of(column))
        if not feature.may_change or not (sign := trend(amounts, evidence.desired, CONTRADICTING)):
            continue
        words = _told_in_words(evidence, feature, sign)
        if words is None:
            continue
        most, least = _ends(evidence, amounts)
        text = (
            f"{feature.name}: {words}, but of the people with the most of it {most:.0%} have the wanted outcome, of "
            f"those with the least {least:.0%}: write `mutable: none`, or the other direction"
        )
        yield Finding(("features", evidence.number_of(feature.name), "mutable"), abs(most - least), text, feature.name)


def _told_in_words(evidence: Evidence, feature: Feature, sign: int) -> str | None:
    """The advice to people that goes against the data, which have this sign; None where there is none."""
    if feature.mutable != "any":
        return f"`mutable: {feature.mutable}`" if (feature.mutable == "up") is (sign < 0) else None
    moves = [change.distance(feature) for change in evidence.changes.get(feature.name, ())]
    opposed = sum(move * sign < 0 for move in moves)
    if opposed < FEWEST or opposed <= MOSTLY * len(moves):
        return None
    return f"{opposed} of {len(moves)} options {'lower' if sign > 0 else 'raise'} it"


def _ends(evidence: Evidence, column: Column) -> tuple[float, float]:
    """The shares with the wanted outcome of the rows with the most, and with the least."""
    values, outcomes = column.ranks, evidence.desired[column.given]
    low, high = np.quantile(values, [ENDS, 1.0 - ENDS])
    return float(outcomes[values >= high].mean()), float(outcomes[values <= low].mean())
