import json

import numpy as np

from onward.benchmarks import face
from onward.benchmarks.evaluation import ESTIMATES, PROGRAMS, Args, Benchmark, rare, rows
from onward.benchmarks.truth.evaluated_logs import CHOICES, TARGETS, evaluated_logs


def test_little_overlap_gives_no_estimate_and_much_one_that_holds() -> None:
    """At 100,000 steps among 4 candidates an interval of 95 % holds less than 14 of 20 times once in 30,000."""
    found = {
        (row.agreeing, row.steps): row
        for row in rows(20, feasible=4, exploration=0.1, generator=np.random.default_rng(0))
    }
    assert found[0.0, 1_000].given == 0.0
    assert found[0.0, 100_000].given == 1.0
    assert all(found[0.0, 100_000].held[name] >= 0.7 for name in ESTIMATES)
    assert found[0.9, 100_000].half_width["ips"] < found[0.0, 100_000].half_width["ips"] < 0.05


def test_rare_rewards_give_no_estimate_where_it_would_not_hold() -> None:
    """Of 20 intervals of 95 % fewer than 14 hold once in 30,000 times."""
    found = [
        row for row in rare(20, feasible=30, exploration=0.1, generator=np.random.default_rng(0)) if row.agreeing == 0.5
    ]
    assert [row.given for row in found if row.rate < 0.1] == [0.0, 0.0, 0.0]
    assert found[0].held_of_all < 0.5
    assert found[-1].given > 0.8
    assert found[-1].held["snips"] >= 0.7


def test_a_program_that_always_explores_gives_an_estimate_that_holds(monkeypatch) -> None:
    """Of three policies with three estimates each an interval of four standard errors misses once in 1,700 times."""
    monkeypatch.setattr("onward.benchmarks.truth.evaluated_logs.EXPLORATION", (1.0,))
    found = list(evaluated_logs(1, 600, seed=3))
    assert [log.choice for log in found] == [CHOICES[0]] * TARGETS
    assert len({log.target for log in found} - {CHOICES[0]}) == TARGETS
    for log in found:
        evaluation = log.evaluation
        assert evaluation.doubt is None
        assert evaluation.steps > 500
        assert 0.0 < log.truth < 1.0
        assert evaluation.logged is not None
        assert 0.0 < evaluation.logged.value < 1.0
        for name in ESTIMATES:
            estimate = getattr(evaluation, name)
            assert abs(estimate.value - log.truth) < 4.0 * estimate.error


def test_the_command_prints_two_tables_and_writes_rows(tmp_path, capsys) -> None:
    benchmark = Benchmark()
    line = ["--logs", "2", "--programs", "1", "--people", "150", "--json", str(tmp_path / "rows.json")]
    assert face.run(Args, benchmark.measure, line, show=benchmark.show) == 0
    named = {row["name"]: row["value"] for row in json.loads((tmp_path / "rows.json").read_text())}
    assert named["agreeing 0, 1,000 steps, mean reward 0.5: estimate given"] == 0.0
    assert named["agreeing 0.9, 100,000 steps, mean reward 0.5: estimate given"] == 1.0
    printed = capsys.readouterr().out
    assert "30,000 steps" in printed
    assert PROGRAMS in printed
    assert 0.0 <= named[f"{PROGRAMS}: estimate given"] <= 1.0
    assert face.run(Args, Benchmark().measure, ["--logs", "0"]) == 2
    assert capsys.readouterr().err == "error: --logs 0 and --feasible 30: give numbers from 1\n"
