"""Imported models are held against their own libraries, where these are installed."""

from __future__ import annotations

import pytest

from onward.benchmarks import face
from onward.benchmarks.imported import Args, imported


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_decisions_are_the_library_s_own_and_it_accepts_every_option():
    for package in ("lightgbm", "onnxmltools", "xgboost"):
        pytest.importorskip(package)
    rows = list(imported(face.parse(Args, None, ["--quick"])))
    assert len(rows) == 2 * (8 + 3 + 4)
    assert [row.name for row in rows if row.value < 1.0] == []
