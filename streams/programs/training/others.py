"""The rows without a label that stand beside some of those with one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....schemas.table import Table

SEED = 44
"""Beside that of training."""


def others_beside(table: Table, count: int) -> NDArray[np.float64] | None:
    """The rows without a label (m, D) beside ``count`` ones with a label; None where the spec reads none.

    They are drawn evenly, as large a share of all such rows as ``count`` is of those with a label, so that the share of
    people with a label is that of the file.
    """
    return None if table.other_X is None else table.other_X[drawn(table, count, 0)]


def drawn(table: Table, count: int, purpose: int) -> NDArray[np.intp]:
    """Numbers of rows without a label: the share of them that ``count`` is of the rows with one."""
    others, labelled = len(table.others), len(table.rows)
    drawn = np.random.RandomState([SEED, purpose]).permutation(others)
    return np.sort(drawn[: round(others * count / labelled)])
