from onward.benchmarks.evaluation import ESTIMATES, rows


def test_little_overlap_gives_no_estimate_and_much_one_that_holds() -> None:
    """At 100,000 steps among 4 candidates an interval of 95 % holds less than 14 of 20 times once in 30,000."""
    found = {(row.agreeing, row.steps): row for row in rows(20, feasible=4, exploration=0.1)}
    assert found[0.0, 1_000].given == 0.0
    assert found[0.0, 100_000].given == 1.0
    assert all(found[0.0, 100_000].held[name] >= 0.7 for name in ESTIMATES)
    assert found[0.9, 100_000].half_width["ips"] < found[0.0, 100_000].half_width["ips"] < 0.05
