"""How far a column tells the label."""

from __future__ import annotations

import numpy as np
import pytest

from onward.schemas.draft.association import is_leak
from onward.schemas.draft.columns import Column

ROWS = 40


def column(cells: list[str]) -> Column:
    return Column("x", tuple(cells))


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_a_row_does_not_tell_its_own_label(kind: str) -> None:
    """Each row has a value of its own, which would tell everything if the row were counted for itself."""
    desired = np.arange(ROWS) % 2 == 0
    own = [f"{'n' if kind == 'texts' else ''}{number}" for number in range(ROWS)]
    assert not is_leak(column(own), desired)
    copy = [str(int(wanted)) for wanted in desired]
    assert is_leak(column(copy), desired)
