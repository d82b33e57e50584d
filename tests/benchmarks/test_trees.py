"""The processor time of trees is measured beside that of another checkout."""

from __future__ import annotations

import sys

import pytest

from onward.benchmarks import face
from onward.benchmarks.trees import Args, trees
from onward.streams.errors import UsageError


@pytest.mark.slow
def test_every_ensemble_is_measured_on_variants_and_on_other_people():
    rows = {row.name: row for row in trees(face.parse(Args, None, ["--quick", "--against", sys.executable]))}
    assert len(rows) == 3 * 5
    ratios = [row for name, row in rows.items() if name.endswith("ratio")]
    assert all(row.value > 0 and row.aim is not None for row in ratios)
    row, person = (rows[f"label prior, population, variants, a {of}"] for of in ("row", "person"))
    assert person.value / row.value == pytest.approx(person.reference / row.reference)


def test_a_data_set_and_a_checkout_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(UsageError, match="--data-set none: there are population"):
        list(trees(face.parse(Args, None, ["--quick", "--data-set", "none"])))
    with pytest.raises(UsageError, match="cannot score these rows"):
        list(trees(face.parse(Args, None, ["--quick", "--people", "1", "--against", str(tmp_path / "python")])))
