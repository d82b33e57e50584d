from __future__ import annotations

import pytest

from onward.benchmarks import face
from onward.benchmarks.rounds import Args, rounds


@pytest.mark.slow
def test_a_round_of_more_than_one_piece_is_closed_and_measured():
    rows = {row.name: row.value for row in rounds(face.parse(Args, None, ["--quick", "--applicants", "1200"]))}
    assert rows["1,200 applicants, to close"] > 0
    assert rows["1,200 applicants, longest piece"] > 1
    assert rows["1,200 applicants, at most"] > 10
