"""Texts that are bands of numbers, such as "<20k", "20k-40k" and ">60k", in their order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

_NUMBER = re.compile(r"([0-9]{1,3}(?:[,.' \u00a0\u2009\u202f][0-9]{3})+|[0-9]+(?:\.[0-9]+)?)\s?([kKmM](?![a-zA-Z]))?")
_LETTER = re.compile(r"[^\W\d_]")
_GROUPING = re.compile(r"[,.' \u00a0\u2009\u202f](?=[0-9]{3})")
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6}
BELOW, ABOVE = ("<", "\u2264"), (">", "\u2265", "+")
"""Signs of a band that is open to one side. Where a text has none, its place among the others says it."""
FEWEST = 2


class Band(NamedTuple):
    """The numbers from ``low`` to ``high``, and the text that says so."""

    low: float
    high: float
    text: str


def bands_of(texts: Iterable[str]) -> list[str] | None:
    """The distinct texts from lowest to highest, where each is a band of numbers and no two overlap.

    Single numbers may stand among bands. No word decides: "under 25" is below "25-34" since it cannot be anywhere else.

    Examples
    --------
    >>> bands_of([">60k", "20k-40k", "<20k", "40k-60k"])
    ['<20k', '20k-40k', '40k-60k', '>60k']
    >>> bands_of(["65 and over", "25 to 64", "under 25"]), bands_of(["0", "2", "1", "3+"])
    (['under 25', '25 to 64', '65 and over'], ['0', '1', '2', '3+'])
    >>> bands_of(["2 rooms", "3 rooms"]), bands_of(["0-10", "5-20"])
    (None, None)
    """
    distinct = sorted(set(texts))
    parsed = [(text, _numbers(text)) for text in distinct]
    if len(distinct) < FEWEST or not all(1 <= len(numbers) <= 2 for _, numbers in parsed):
        return None
    known: list[Band] = []
    unplaced: list[tuple[str, float]] = []
    for text, numbers in parsed:
        band = _band(text, numbers)
        if band is None:
            unplaced.append((text, numbers[0]))
        else:
            known.append(band)
    if not any(band.low < band.high for band in known):
        return None
    known = [*known, *(_placed(text, number, known) for text, number in unplaced)]
    ordered = sorted(known)
    is_order = all(one.high <= other.low and one[:2] != other[:2] for one, other in pairwise(ordered))
    return [band.text for band in ordered] if is_order else None


def _numbers(text: str) -> list[float]:
    """The numbers in a text. A unit behind the last is that of the first too: 20-40k."""
    found = [(_GROUPING.sub("", number), unit.lower()) for number, unit in _NUMBER.findall(text)]
    if len(found) > 1 and not found[0][1]:
        found[0] = (found[0][0], found[1][1])
    return [float(number) * _UNITS[unit] for number, unit in found]


def _band(text: str, numbers: Sequence[float]) -> Band | None:
    """A text as a band by its numbers and signs; None where only its place can tell which side is open."""
    first, last = numbers[0], numbers[-1]
    is_below, is_above = any(sign in text for sign in BELOW), any(sign in text for sign in ABOVE)
    if len(numbers) > 1:
        return Band(first, last, text)
    if is_below != is_above:
        return Band(-math.inf, last, text) if is_below else Band(first, math.inf, text)
    return None if _LETTER.search(_NUMBER.sub("", text)) else Band(first, last, text)


def _placed(text: str, number: float, known: Sequence[Band]) -> Band:
    """A text of one number as the band below or above all others; else one that is in no order with them."""
    if all(number <= band.low for band in known):
        return Band(-math.inf, number, text)
    if all(number >= band.high for band in known):
        return Band(number, math.inf, text)
    return Band(-math.inf, math.inf, text)
