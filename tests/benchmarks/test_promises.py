from __future__ import annotations

import pytest

from onward.benchmarks import face, promises, promises_live


@pytest.mark.slow
def test_a_new_model_is_looked_at_in_pieces_and_measured():
    args = face.parse(promises.Args, None, ["--quick", "--open", "600"])
    rows = {row.name: row.value for row in promises.promises(args)}
    assert rows["600 open recourses, new model"] > 0
    assert 0 < rows["600 open recourses, broken"] < 1
    assert rows["600 open recourses, options told"] > 100


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_no_broken_option_and_tells_none_twice():
    args = face.parse(promises_live.Args, None, ["--quick", "--broker", "embedded"])
    rows = {row.name: row.value for row in promises_live.live(args)}
    assert rows["1,000 open recourses, all told"] > 0
    assert rows["killed in the middle: broken options that are not told"] == 0
    assert rows["killed in the middle: broken options that are told twice"] == 0
