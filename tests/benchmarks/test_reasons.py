"""Reasons are measured for every kind of model, against Shapley values that are added up coalition by coalition."""

from __future__ import annotations

import numpy as np
import pytest

from onward.benchmarks import face
from onward.benchmarks.reasons import CODEC, FEATURES, Args, enumerated, reasons


def test_the_exact_values_are_those_of_a_product():
    """Each factor of a product is worth half of what both together are, against a baseline of zeros."""
    person = np.ones(CODEC.dimension)
    shapley = enumerated(lambda X: 3.0 * X[:, 0] * X[:, 1] + X[:, 2], person, np.zeros(CODEC.dimension))
    assert shapley.tolist() == pytest.approx([1.5, 1.5, 1.0, *[0.0] * (FEATURES - 3)])


@pytest.mark.slow
def test_every_kind_of_model_is_measured():
    rows = {row.name: row for row in reasons(face.parse(Args, None, ["--quick"]))}
    exact = {name: row.value for name, row in rows.items() if name.endswith(": exact reasons")}
    assert len(exact) == 5
    assert all(exact[f"{title}: exact reasons"] == 1.0 for title in ("logistic regression", "forest of 100 trees"))
    assert all(share >= 0.9 for share in exact.values())
