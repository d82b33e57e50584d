"""The wait for a first answer is measured in new processes."""

from __future__ import annotations

import pytest

from onward.benchmarks import face
from onward.benchmarks.first_answer import Args, first_answer
from onward.streams.errors import UsageError


@pytest.mark.slow
def test_each_kind_of_process_is_measured():
    rows = {(row.name, row.unit): row for row in first_answer(face.parse(Args, None, ["--quick"]))}
    kinds = ("nothing compiled", "after train", "after a rehearsal")
    assert [name for name, unit in rows if unit == "s"] == [f"{kind}, population" for kind in kinds]
    nothing = rows["nothing compiled, population", "s CPU"].value
    assert all(rows[f"{kind}, population", "s CPU"].reference == nothing for kind in kinds[1:])


def test_a_data_set_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="--data-set none: there are population"):
        list(first_answer(face.parse(Args, None, ["--data-set", "none"])))
