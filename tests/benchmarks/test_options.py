from __future__ import annotations

import math

from onward.benchmarks import face
from onward.benchmarks.options import Args, options


def test_the_search_is_held_against_instances_and_the_optimum():
    rows = {row.name: row for row in options(face.parse(Args, None, ["--quick", "--max-changes", "2"]))}
    assert len(rows) == 2 * 11
    for model in ("logistic", "forest"):
        title = f"population, {model}, 2 changes"
        assert rows[f"{title}: none"].value <= rows[f"{title}: none"].reference
        assert 1.0 <= rows[f"{title}: cost / optimum, coarse"].value < math.inf
        assert rows[f"{title}: none, coarse"].value == 0.0
