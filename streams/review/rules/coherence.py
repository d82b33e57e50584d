"""Options that change a number and leave another one, though in the data the one never goes without the other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from ....schemas.draft.association import ranks_of
from ....schemas.draft.columns import Column, Floats
from ....schemas.draft.derived import Identity, identities
from ....schemas.draft.relations import FEWEST_ROWS, FEWEST_VALUES, is_never_above
from ..evidence import FEWEST, Evidence, ReviewedChange, numbers_of
from . import Finding

MOST_ROWS = 5_000
"""Rows by which pairs of columns are compared, evenly spread over larger data."""
TOGETHER = 0.95
"""The rank correlation of two columns from which nobody changes one alone."""
RELATED = 0.3
"""The rank correlation of a part and its total: a total of many parts goes less closely with each of them."""
STANDARD_ERRORS = 3.0

Numbers = Mapping[str, float]
"""The numbers of a person by feature, NaN where one is not given."""


class Relation(NamedTuple):
    """What holds in the data, in ``words``, between the feature of an option and others. ``is_broken`` tells it of a
    person's numbers before and after the option."""

    words: str
    is_broken: Callable[[Numbers, Numbers], bool]


def leaves_total(evidence: Evidence) -> Iterator[Finding]:
    """Options that lower a part and leave its total, and the like. The figure is their share of those that change it.

    Of several such numbers the one is named that most options leave.
    """
    if len(evidence.desired) < FEWEST_ROWS:
        return
    thinned = map(_thinned, evidence.numbers.values())
    columns = {column.name: column for column in thinned if column.numbers is not None}
    everywhere = list(identities(columns.values()))
    for name, changes in evidence.changes.items():
        if name not in columns:
            continue
        relations = chain(_of_identities(everywhere, name), _of_pairs(columns, name))
        broken = Counter(
            {relation.words: count for relation in relations if (count := _count(relation, evidence, changes))}
        )
        if not broken or max(broken.values()) < FEWEST:
            continue
        [(words, count)] = broken.most_common(1)
        text = (
            f"{name}: {count} of {len(changes)} options change it, and {words}: say in `effects` or `computed` what "
            "follows, write `mutable: none`, or take one of them out of the features"
        )
        yield Finding(("features", evidence.number_of(name), "mutable"), count / len(changes), text, name)


def _count(relation: Relation, evidence: Evidence, changes: Iterable[ReviewedChange]) -> int:
    """How many options break a relation that their people keep."""
    count = 0
    for person, option, _ in changes:
        before = {name: _number(value) for name, value in evidence.people[person].items()}
        after = before | {name: _number(value) for name, value in option.after.items()}
        count += relation.is_broken(before, after)
    return count


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _of_identities(everywhere: Iterable[Identity], name: str) -> Iterator[Relation]:
    """Sums, differences, products and ratios that a feature is part of."""
    for identity in everywhere:
        of = identity.first.name, identity.second.name, identity.column.name
        if name in of:
            words = f"{identity.column.name} is {identity} in every row, and no longer then"
            yield Relation(words, partial(_ends, identity, of))


def _ends(identity: Identity, of: tuple[str, str, str], before: Numbers, after: Numbers) -> bool:
    """Whether an identity holds of the numbers before and not of those after."""

    def holds(numbers: Numbers) -> bool:
        return bool(identity.holds(*(np.array([numbers[name]]) for name in of))[0])

    return holds(before) and not holds(after)


def _of_pairs(columns: Mapping[str, Column], name: str) -> Iterator[Relation]:
    """Numbers that a feature always goes with: one to one, as a part and its total, or as the smaller of two."""
    column = columns[name]
    for other in (candidate for candidate in columns.values() if candidate.name != name):
        both = column.given & other.given
        one, two = numbers_of(column)[both], numbers_of(other)[both]
        if len(one) < FEWEST_ROWS or min(len(np.unique(one)), len(np.unique(two))) < FEWEST_VALUES:
            continue
        correlation = float(np.corrcoef(ranks_of(one), ranks_of(two))[0, 1])
        if abs(correlation) >= TOGETHER:
            words = f"leave {other.name}, which always goes with it (rank correlation {correlation:.2f})"
            yield Relation(words, partial(_leaves, name, other.name))
        elif correlation >= RELATED and is_never_above(one, two) and _moves_with(one, two):
            words = f"leave {other.name}, which moves with it as a total does with its part, and is never less"
            yield Relation(words, partial(_leaves, name, other.name))


def _leaves(name: str, other: str, before: Numbers, after: Numbers) -> bool:
    """Whether one number changes and the other one, which is given, stays."""
    return before[name] != after[name] and before[other] == after[other]


def _moves_with(part: Floats, total: Floats) -> bool:
    """Whether a total rises by as much as its part, or more, as far as the data can tell."""
    x, y = part - part.mean(), total - total.mean()
    slope = float(np.dot(x, y) / np.dot(x, x))
    error = math.sqrt(float(((y - slope * x) ** 2).sum() / (len(x) - 2) / np.dot(x, x)))
    return slope >= 1.0 - STANDARD_ERRORS * error


def _thinned(column: Column) -> Column:
    """A column of at most ``MOST_ROWS`` rows."""
    return Column(column.name, column.cells[:: math.ceil(len(column.cells) / MOST_ROWS)])
