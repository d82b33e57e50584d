"""What holds between columns of numbers in every row: one number never above another, zeros together.

A relation counts only where numbers paired at random would break it often; then it is no accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .columns import Floats
from .yaml_text import flow_list, text

FEWEST_ROWS = 100
BROKEN_AT_RANDOM = 0.05
"""The least share of random pairings that break a relation which is no accident."""
FEWEST_BROKEN = 20.0
"""The least number of rows that would break it, were they paired at random."""
MOST_TIMES = 20.0
"""The largest number of one column is at most so many times that of the other: else their units differ."""
FEWEST_VALUES = 3
"""A column of fewer is a flag, which is not above or below another number."""
SAMPLED = 200
"""Rows on which relations are tried before they are tried on all."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Relations:
    """The pairs (a, b) with a <= b in each of ``rows`` rows, and (a, b) of which b is 0 wherever a is."""

    rows: int
    ordered: Sequence[Pair]
    zero: Sequence[Pair]

    def lines(self, most_changes: int) -> str:
        """The constraints of the spec; nothing where no relation was found."""
        if not self.ordered and not self.zero:
            return ""
        lines = ["constraints:", f"  # max_changes: {most_changes}  # the most features that an option changes"]
        if self.ordered:
            lines.append(
                f"  le:  # found in all {self.rows} rows: the first is at most the second; delete what is chance"
            )
            lines += [f"    - {flow_list(pair)}" for pair in self.ordered]
        if self.zero:
            lines.append(f"  rules:  # found in all {self.rows} rows: both are 0 or neither; delete what is chance")
            lines += [
                f"    - {{if: {{feature: {text(first)}, equals: 0}}, then: {{feature: {text(second)}, equals: 0}}}}"
                for first, second in self.zero
            ]
        return "".join(f"{line}\n" for line in lines)


def relations(numbers: Mapping[str, Floats], fixed: Set[str]) -> Relations:
    """The relations between the numbers of features, (n,) each; ``fixed`` are those that nobody may change."""
    rows = len(next(iter(numbers.values()), ()))
    if rows < FEWEST_ROWS:
        return Relations(rows, (), ())
    order = _ordered({name: values for name, values in numbers.items() if len(np.unique(values)) >= FEWEST_VALUES})
    open_pairs = {pair for pair in order if not fixed >= set(pair)}
    ordered = [pair for pair in order if pair in open_pairs and not _is_implied(pair, open_pairs)]
    zero = [pair for pair in _zero_together(numbers) if not fixed >= set(pair) and pair[::-1] not in open_pairs]
    return Relations(rows, ordered, zero)


def _ordered(numbers: Mapping[str, Floats]) -> list[Pair]:
    """The pairs (a, b) with a <= b in every row that are no accident, in the order of the columns."""
    names, values = list(numbers), np.array(list(numbers.values()))
    if not names:
        return []
    low, high = values.min(axis=1), values.max(axis=1)
    sample = values[:, :: max(1, values.shape[1] // SAMPLED)]
    found: list[Pair] = []
    for first, name in enumerate(names):
        close = (low[first] <= low) & (high[first] <= high) & (high <= MOST_TIMES * high[first])
        close[close] = (sample[first] <= sample[close]).all(axis=1)
        close[first] = False
        near = np.flatnonzero(close).tolist()
        found += [(name, names[second]) for second in near if is_never_above(values[first], values[second])]
    return found


def is_never_above(first: Floats, second: Floats) -> bool:
    """Whether the first of two numbers (n,) is at most the second in every row, and that is no accident."""
    if (first > second).any() or not (first < second).any():
        return False
    below = np.searchsorted(np.sort(second), first, side="left")
    return is_no_accident(float(below.mean()) / len(first), len(first))


def _zero_together(numbers: Mapping[str, Floats]) -> list[Pair]:
    """The pairs of which both are 0 in the same rows, both ways, each with the next such column."""
    groups: dict[bytes, list[str]] = {}
    for name, values in numbers.items():
        is_zero = values == 0
        share = float(is_zero.mean())
        if values.min() == 0 and is_no_accident(2 * share * (1 - share), len(values)):
            groups.setdefault(is_zero.tobytes(), []).append(name)
    return [
        pair for group in groups.values() for one, other in pairwise(group) for pair in ((one, other), (other, one))
    ]


def is_no_accident(broken_at_random: float, rows: int) -> bool:
    """Whether numbers paired at random would break a relation often enough: in this share of so many rows."""
    return broken_at_random >= max(BROKEN_AT_RANDOM, FEWEST_BROKEN / rows)


def _is_implied(pair: Pair, pairs: Set[Pair]) -> bool:
    first, second = pair
    return any(one == first and (other, second) in pairs for one, other in pairs)
