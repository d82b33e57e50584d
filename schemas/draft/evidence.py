"""What the data say of a column: how its values are spread, and which people have more of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ..events import Value
from .association import CONTRADICTING, trend
from .columns import Column, Mask
from .yaml_text import number_text

MOST_SHOWN = 3
MOST_LETTERS = 20


def spread(column: Column) -> str:
    """How many values a column has, and which: the ends and the middle of numbers, the most frequent texts."""
    if column.numbers is not None:
        low, high = column.values.min().item(), column.values.max().item()
        middle = np.quantile(column.values, 0.5, method="lower").item()
        distinct = len(np.unique(column.values))
        return f"{distinct} values from {number_text(low)} to {number_text(high)}, median {number_text(middle)}"
    counts = Counter(column.texts)
    common = sorted(counts, key=lambda text: (-counts[text], text))[:MOST_SHOWN]
    shown = ", ".join(f"{text[:MOST_LETTERS]!r} {counts[text] / len(column.texts):.0%}" for text in common)
    return f"{len(counts)} values: {shown}" + (", ..." if len(counts) > len(common) else "")


def who_has_more(column: Column, masks: Mapping[Value, Mask]) -> str:
    """Of which label's rows a column of numbers is higher, in words; nothing where the data do not say it.

    ``masks`` (n,) say which rows have each of the label's two values.
    """
    if column.numbers is None or len(masks) != 2:
        return ""
    (first, rows), (second, _) = masks.items()
    sign = trend(column, rows, CONTRADICTING)
    likelier = first if sign > 0 else second
    return f"{likelier!r} goes with higher {column.name}" if sign else ""
