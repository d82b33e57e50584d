"""How far a column tells the label."""

from __future__ import annotations

import numpy as np
import pytest

from onward.schemas.draft.association import is_leak
from onward.schemas.draft.columns import Column

ROWS = 40


def column(values: np.ndarray, kind: str) -> Column:
    return Column("x", tuple(f"{'n' if kind == 'texts' else ''}{value}" for value in values))


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_a_row_with_a_value_of_its_own_does_not_tell_its_label(kind: str) -> None:
    desired = np.arange(ROWS) % 2 == 0
    assert not is_leak(column(np.arange(ROWS), kind), desired)
    assert is_leak(column(desired.astype(int), kind), desired)


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_a_row_is_judged_by_the_others_of_its_group_alone(kind: str) -> None:
    """Two rows have each value, and of every tenth value different labels: their own would count as half right."""
    values = np.repeat(np.arange(ROWS), 2)
    desired = values % 2 == 0
    desired[::20] = ~desired[1::20]
    assert not is_leak(column(values, kind), desired)
