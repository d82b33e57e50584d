"""Columns of flags that are one category together, since exactly one of them is 1 in every row.

The rows decide, not the names: a name only says what the category is called. So nobody is ever put into two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..cell import is_flag
from ..raw_table import RawTable
from .columns import Floats, Mask
from .names import is_name
from .relations import is_no_accident

Groups = dict[str, dict[str, str]]
"""Features by name: their columns with the category of each."""

_STARTS = re.compile(r"(?<=[\W_])(?=.)|(?<=[a-z])(?=[A-Z0-9])")
"""Where a category may begin in the name of its column: job_clerk, job=clerk, job.clerk, jobClerk."""
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")
FEWEST = 2
FEWEST_ROWS = 20
"""Rows in which flags without a name in common must go together."""
USUAL = ":"
"""What stands between name and category where a spec does not say it."""
SPELLINGS = 8
"""More different cells a column of flags cannot have: 1, 1.0, True, true, and the same of 0."""


def one_hot_groups(raw: RawTable, label: str) -> Groups:
    """The columns other than the label of which exactly one is 1, or True, in every row, and the others 0.

    They have one beginning in common, up to whatever separator, or stand beside each other.
    """
    flags = _flags(raw, label)
    groups: Groups = {}
    for prefix, members in _candidates(flags):
        if np.all(np.sum([flags[name] for name in members], axis=0) == 1):
            _add(groups, prefix, members, raw)
    taken = {column for columns in groups.values() for column in columns}
    for members in _neighbours({name: flag for name, flag in flags.items() if name not in taken}, list(raw.columns)):
        _add(groups, "", members, raw)
    return groups


def dropped_groups(raw: RawTable, label: str, groups: Groups) -> Groups:
    """The columns of which at most one is 1 in every row, and none in some: one category may have no column.

    They have one beginning in common. That no two are 1 together is no accident: pairs of rows at random would have it.
    Whether 0 in all is a category of its own, and what it is called, only a person can tell; a spec then names it as
    the first category, and these columns as ``one_hot``. Those of the one-hot ``groups`` are not among them.
    """
    flags = _flags(raw, label)
    taken = {column for columns in groups.values() for column in columns}
    found: Groups = {}
    for prefix, members in _candidates({name: flag for name, flag in flags.items() if name not in taken}):
        columns = np.array([flags[name] for name in members])
        if columns.sum(axis=0).max() == 1 and is_no_accident(_together(columns.mean(axis=1)), columns.shape[1]):
            _add(found, prefix, members, raw)
    return found


def _together(shares: Floats) -> float:
    """The share of rows in which two flags or more would be 1, were those with these shares of 1 not related."""
    without = 1.0 - shares
    alone = [share * np.prod(np.delete(without, place)) for place, share in enumerate(shares)]
    return float(1.0 - np.prod(without) - np.sum(alone))


def _flags(raw: RawTable, label: str) -> Mapping[str, Mask]:
    """The columns that hold 1 and 0, or True and False, alone, (n,) each."""
    flags: dict[str, Mask] = {}
    for name, cells in raw.columns.items():
        distinct = set(cells)
        if (
            name != label
            and len(distinct) <= SPELLINGS
            and all(is_flag(cell, 0) or is_flag(cell, 1) for cell in distinct)
        ):
            ones = {cell for cell in distinct if is_flag(cell, 1)}
            flags[name] = np.array([cell in ones for cell in cells])
    return flags


def _candidates(names: Mapping[str, Mask]) -> Iterator[tuple[str, Sequence[str]]]:
    """The columns with one beginning in common, and this; the longest lists first, then the longest beginnings."""
    by_prefix: dict[str, list[str]] = {}
    for name in names:
        for start in _STARTS.finditer(name):
            by_prefix.setdefault(name[: start.start()], []).append(name)
    several = [(prefix, members) for prefix, members in by_prefix.items() if len(members) >= FEWEST]
    yield from sorted(
        several, key=lambda candidate: (-len(candidate[1]), not candidate[0].endswith(USUAL), -len(candidate[0]))
    )


def _neighbours(flags: Mapping[str, Mask], names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The runs of columns beside each other of which exactly one is 1 in every row.

    Two such flags are one, and its opposite: one of them follows from the other.
    """
    run: list[str] = []
    for start in range(len(names)):
        if names[start] in run:
            continue
        members: list[str] = []
        covered = np.zeros(0, dtype=bool)
        for name in names[start:]:
            flag = flags.get(name)
            if flag is None or not 0 < flag.sum() < len(flag) or (members and np.any(covered & flag)):
                break
            members.append(name)
            covered = covered | flag if len(members) > 1 else flag
            if covered.all() and len(covered) >= FEWEST_ROWS and len(members) > FEWEST:
                run = members
                yield members
                break


def _add(groups: Groups, prefix: str, members: Sequence[str], raw: RawTable) -> None:
    """Add a group, unless its name is another's or it shares a column with another."""
    taken = {column for columns in groups.values() for column in columns}
    if taken & set(members):
        return
    group = _AROUND.sub("", prefix)
    categories = {name: name[len(prefix) :] if group else name for name in members}
    group = group or " or ".join([*members[:FEWEST], *(["other"] if len(members) > FEWEST else [])])
    is_named = is_name(group) and group not in raw.columns and group not in groups
    if is_named and all(text and text.isprintable() for text in categories.values()):
        groups[group] = categories
