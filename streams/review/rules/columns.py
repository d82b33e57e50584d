"""What the values of a feature say, whatever it is called: known only afterwards, no values, single rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ....schemas.draft.apart import codes_in_words
from ....schemas.draft.association import LEAK, area_alone, ranks_of
from ....schemas.draft.codes import codes_of
from ....schemas.draft.columns import Column, Mask
from ....schemas.draft.left_out import reason_against_rows
from ....schemas.not_given import is_not_given_among_texts
from ....schemas.spec import Feature
from ..evidence import Evidence
from . import Finding

NEARLY_ALL = 0.98
"""The share of one outcome's rows that have the same value of what is known only afterwards; some are mistakes."""
NOT_THE_OTHERS = 0.75
"""The other outcome's rows have this value at most so often. More is a rare trait, such as a bankruptcy."""
FEWEST_EXPECTED = 10.0
"""Rows of the first outcome that would have another value, were it as in the other one: by chance never 2 % of them."""
NEAR = 0.9
"""A column that alone ranks rows at least so well may be known only afterwards. Of the data sets that the benchmarks
use the best honest column ranks them by 0.83."""
FOLLOWS = 0.9
"""The rank correlation with a column that tells the label from which a feature says the same."""
MANY_KINDS = 20
"""Different texts without an order, from which they may be names: few rows speak for each."""


def one_value_of_one_outcome(evidence: Evidence) -> Iterator[Finding]:
    """Features that have one value for nearly all with one outcome and not for the others: known only afterwards.

    The figure is the share of that outcome's rows.
    """
    for number, feature in enumerate(evidence.spec.features):
        cells = np.array(evidence.columns[feature.name].cells)
        for side, named in ((~evidence.desired, "without"), (evidence.desired, "with")):
            found = _one_value(cells, side)
            if found is None:
                continue
            value, share, others = found
            text = (
                f"{_shown(feature, value)} for {share:.0%} of the rows {named} the wanted outcome and {others:.0%} of "
                "the others: probably known only after the decision; take it out of the features"
            )
            yield Finding(("features", number), share, f"{feature.name}: {text}", feature.name)
            break


def _one_value(cells: np.ndarray, side: Mask) -> tuple[str, float, float] | None:
    """The value of nearly all rows of one side, and the shares of its rows and of the others that have it."""
    rows = int(side.sum())
    if not rows or rows == len(cells):
        return None
    [(value, count)] = Counter(cells[side].tolist()).most_common(1)
    share, others = count / rows, float((cells[~side] == value).mean())
    is_found = share >= NEARLY_ALL and others <= NOT_THE_OTHERS and rows * (1.0 - others) >= FEWEST_EXPECTED
    return (value, share, others) if is_found else None


def _shown(feature: Feature, cell: str) -> str:
    if not cell:
        return "no value"
    return repr(feature.levels[int(cell)] if feature.levels else cell)


def near_copy(evidence: Evidence) -> Iterator[Finding]:
    """Features that alone tell the label, or nearly so, and features that follow from a column which does.

    The figure is the area under the ROC curve, or the rank correlation.
    """
    known = {finding.feature for finding in one_value_of_one_outcome(evidence)}
    for number, feature in enumerate(evidence.spec.features):
        if feature.name in known:
            continue
        column = evidence.columns[feature.name]
        area = area_alone(column, evidence.desired)
        leak, correlation = _followed(evidence, column) if area < NEAR else ("", 0.0)
        if area >= NEAR:
            how = "almost always" if area >= LEAK else "nearly as a copy of it would"
            text = f"it alone tells the label, {how} (area under the ROC curve {area:.2f})"
        elif abs(correlation) >= FOLLOWS:
            text = f"it follows {leak!r}, which alone tells the label (rank correlation {correlation:.2f})"
        else:
            continue
        figure = max(area, abs(correlation))
        text = f"{feature.name}: {text}: if it is known only after the decision, take it out of the features"
        yield Finding(("features", number), figure, text, feature.name)


def _followed(evidence: Evidence, column: Column) -> tuple[str, float]:
    """The leak of numbers that a column goes with most closely, and their rank correlation."""
    best = "", 0.0
    for name, leak in evidence.leaks.items():
        if leak.numbers is None or column.numbers is None or name == column.name:
            continue
        both = leak.given & column.given
        first, second = ranks_of(leak.numbers[both]), ranks_of(column.numbers[both])
        if len(first) >= MANY_KINDS and np.ptp(first) and np.ptp(second):
            correlation = float(np.corrcoef(first, second)[0, 1])
            best = max(best, (name, correlation), key=lambda pair: abs(pair[1]))
    return best


def stands_apart(evidence: Evidence) -> Iterator[Finding]:
    """Numbers that stand apart from the amounts, as codes for "no value" do, and texts for it that people are told.

    The figure is the share of the feature's options that begin or end at one, or between them and the amounts.
    """
    for number, feature in enumerate(evidence.spec.features):
        column, changes = evidence.columns[feature.name], evidence.changes.get(feature.name, ())
        codes = codes_of(column) if feature.bounds is not None else ()
        if codes:
            low, high = np.setdiff1d(column.values, codes)[[0, -1]]
            text = f"{codes_in_words(column, codes)} may stand for no value: write `not_given: {list(codes)}` if so"
            ends = ((change.change.current, change.change.target) for change in changes)
            beyond = sum(not all(isinstance(end, str) or low <= end <= high for end in both) for both in ends)
        else:
            targets = [str(change.change.target) for change in changes if feature.bounds is None]
            signs = {target for target in targets if is_not_given_among_texts(target)}
            text = f"people are told to reach {', '.join(sorted(map(repr, signs)))}, which says no value"
            beyond = sum(target in signs for target in targets)
        if codes or beyond:
            asked = f"; {beyond} of {len(changes)} options begin or end there" if beyond else ""
            share = beyond / max(len(changes), 1)
            yield Finding(("features", number), share, f"{feature.name}: {text}{asked}", feature.name)


def rows_told_apart(evidence: Evidence) -> Iterator[Finding]:
    """Features that number rows, name people or hold dates. The figure is the share of different values in the rows."""
    for number, feature in enumerate(evidence.spec.features):
        column = evidence.columns[feature.name]
        kinds = len(set(column.texts))
        reason = reason_against_rows(column) if kinds else None
        if reason is None and feature.categories and column.numbers is None and kinds >= MANY_KINDS:
            reason = f"it holds {kinds} different texts without an order, as names would be"
        if reason is not None:
            text = f"{feature.name}: {reason}; take it out of the features, or group its values"
            yield Finding(("features", number), kinds / len(column.cells), text, feature.name)
