from __future__ import annotations

import json

import numpy as np
import pytest

from onward.benchmarks import face
from onward.benchmarks.durable_recommenders import Args, durable_recommenders
from onward.streams.errors import UsageError

TABLE = {"Ours": {"e": 0.0019, "c": 0.059}, "Ustun": {"e": 0.0, "c": 0.3}, "Wachter": {"e": 0.0026, "c": 0.27}}


def test_recommenders_reach_their_targets_and_success_beats_cost(tmp_path):
    arrays = {"mu": 0.5, "sd": 0.15, "lo": 0.0, "hi": 1.0, "coef": 3.0}
    np.savez(
        tmp_path / "worlds.npz", intercept=np.array([-15.0]), **{k: np.full((1, 10), v) for k, v in arrays.items()}
    )
    targets = {"difficulty_d": np.linspace(0.1, 0.9, 10).tolist(), "table1": {"rows": TABLE}}
    (tmp_path / "targets.json").write_text(json.dumps(targets))
    line = ["--quick", "--people", "60", "--worlds", str(tmp_path / "worlds.npz")]
    rows = {row.name: row for row in durable_recommenders(face.parse(Args, None, line))}
    for title in ("minimal_l1", "minimal_l2", "maximal_success, beta=0.05", "maximal_success, beta=0.01"):
        assert rows[f"{title}, error"].reached
        assert rows[f"{title}, cost"].value >= rows["minimal_l1, cost"].value
    for beta in (0.05, 0.01):
        success = rows[f"maximal_success, success, beta={beta:g}"].value
        assert success > rows[f"minimal_l1, success, beta={beta:g}"].value
        assert success > rows[f"minimal_l2, success, beta={beta:g}"].value


def test_worlds_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no such file"):
        next(durable_recommenders(face.parse(Args, None, ["--worlds", str(tmp_path / "none.npz")])))
