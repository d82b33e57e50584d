from __future__ import annotations

import pytest

from onward.benchmarks import face
from onward.benchmarks.arena.load import Shape, write_load
from onward.benchmarks.open_recourses import Args, Task, fill, open_recourses
from onward.streams.errors import OnwardError


@pytest.mark.slow
def test_both_kinds_of_window_are_filled_and_measured():
    line = ["--quick", "--open", "1200", "--applications", "600"]
    rows = {row.name: row.value for row in open_recourses(face.parse(Args, None, line))}
    for kind in ("steps", "time"):
        assert rows[f"{kind} window, 1,200 open"] > 1
        assert rows[f"{kind} window, 1,200 open, resident"] > 10
        assert rows[f"{kind} window, 1,200 open, at most"] > 10


def test_patience_ends(tmp_path):
    load = write_load(tmp_path / "program", 0, None, Shape(window={"steps": 600}))
    assert fill(Task(load, tmp_path / "state", open=600, applications=10, patience_seconds=0.0)) == 0


def test_a_window_that_is_not_full_is_no_steady_state(tmp_path):
    load = write_load(tmp_path / "program", 0, None, Shape(window={"steps": 2000}))
    with pytest.raises(OnwardError, match="0 recourses were closed by 600 applications"):
        fill(Task(load, tmp_path / "state", open=600, applications=600, patience_seconds=60.0))
