from __future__ import annotations

from pathlib import Path

import pytest

from onward.benchmarks import face
from onward.benchmarks.workers import Args, Share, Team, divide, rows, spread, workers


def test_a_team_is_as_fast_as_its_busiest_worker_where_each_has_a_core() -> None:
    teams = {1: Team(9.0, [Share(300, 6.0)]), 3: Team(8.0, [Share(200, 3.0), Share(70, 2.0), Share(30, 1.3)])}
    found = {row.name: row for row in rows(teams, 300)}
    assert (found["3 at work: to catch up"].value, found["3 at work: to catch up"].reference) == (8.0, 9.0)
    assert [found[f"3 at work, number {rank}: applications"].value for rank in (1, 2, 3)] == [200, 70, 30]
    assert found["3 at work: faster where each has a core"].value == pytest.approx(2.0)
    cost = found["3 at work: an application"]
    assert (cost.value, cost.aim) == (pytest.approx(21_000.0), pytest.approx(22_000.0))


def test_more_shards_spread_over_more_partitions_and_more_evenly() -> None:
    found = [row.value for row in spread()]
    shares, used = found[::2], found[1::2]
    assert shares[0] == used[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert used == sorted(used)
    assert used[-1] > 5.9


@pytest.mark.parametrize("written", ["program: loans\n", "program: loans\nshards: 24  # parts\n"])
def test_a_spec_isdivided_into_other_shards(tmp_path: Path, written: str) -> None:
    spec = tmp_path / "loans.yaml"
    spec.write_text(written)
    divide(spec, 3)
    assert spec.read_text() == "program: loans\nshards: 3\n"


@pytest.mark.kafka
@pytest.mark.usefixtures("own_brokers")
def test_one_two_and_three_workers_answer_everybody() -> None:
    found = {row.name: row.value for row in workers(face.parse(Args, None, ["--quick", "--shards", "24"]))}
    for size in (1, 2, 3):
        answered = [found[f"{size} at work, number {rank}: applications"] for rank in range(1, size + 1)]
        assert sum(answered) == 500
        assert all(answered)
