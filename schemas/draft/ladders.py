"""Texts that have an order become the levels of an ordinal feature: bands of numbers, and well-known words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .bands import bands_of

LADDERS = tuple(
    tuple(ladder.split(", "))
    for ladder in (
        "none, primary, secondary, high school, vocational, some college, college, associate, undergraduate, bachelor, "
        "bachelors, graduate, master, masters, postgraduate, doctorate, phd",
        "very low, low, medium, high, very high",
        "very poor, poor, fair, good, very good, excellent",
        "never, rarely, sometimes, often, always",
        "small, medium, large",
        "a1, a2, b1, b2, c1, c2",
    )
)
FEWEST_LEVELS = 3
_NO_LETTERS = re.compile(r"[\W_]+")


def levels_of(texts: Iterable[str]) -> list[str] | None:
    """The distinct texts from lowest to highest, when they are bands, or at least three rungs of one ladder."""
    texts = set(texts)
    if bands := bands_of(texts):
        return bands
    rungs = {text: _NO_LETTERS.sub(" ", text).strip().lower() for text in set(texts)}
    if len(rungs) < FEWEST_LEVELS or len(set(rungs.values())) < len(rungs):
        return None
    ladder = next((ladder for ladder in LADDERS if set(rungs.values()) <= set(ladder)), None)
    return None if ladder is None else sorted(rungs, key=lambda text: ladder.index(rungs[text]))
