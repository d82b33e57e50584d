"""Numbers that stand apart from the amounts of a column: only a person can say whether they stand for no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .codes import codes_of
from .columns import Column
from .questions import DraftDecisions, DraftQuestion


class Amounts(NamedTuple):
    """A column, without the codes that somebody has said stand for no value; ``doubt`` where nobody has said it."""

    column: Column
    doubt: str = ""


def codes_in_words(column: Column, codes: Sequence[int]) -> str:
    """How often a column holds each of its codes, and between which ends the amounts lie."""
    counts = ", ".join(f"{code} ({int((column.values == code).sum()):,} times)" for code in codes)
    left = np.setdiff1d(column.values, codes)
    return f"{counts} apart from {left.min():.10g} to {left.max():.10g}"


def amounts_of(column: Column, decisions: DraftDecisions) -> Amounts:
    """The amounts of a column. Where nobody has answered, it is as it was, and nobody may be told to change it."""
    codes = codes_of(column)
    if not codes:
        return Amounts(column)
    seen = codes_in_words(column, codes)
    answer = decisions.decide(DraftQuestion("not_given", column.name, seen, (), codes))
    if answer is None:
        return Amounts(column, f"`not_given: [{', '.join(map(str, codes))}]` if these are no values: {seen}")
    return Amounts(column.without_codes(codes) if answer else column)
