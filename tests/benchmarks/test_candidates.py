from __future__ import annotations

from onward.benchmarks import face
from onward.benchmarks.candidates import CHOICES, Args, candidates


def test_every_number_of_candidates_has_its_figures():
    rows = list(candidates(face.parse(Args, None, ["--quick", "--applications", "200", "--candidates", "10,3000"])))
    costs = {row.name: row.value for row in rows}
    choices = [f"{name} chooses among {count}" for name in CHOICES for count in ("10", "3,000")]
    assert list(costs) == [*choices, "an application, 10 candidates", "an application, 3,000 candidates"]
    assert 0 < costs["linucb chooses among 10"] < costs["linucb chooses among 3,000"]
    assert costs["an application, 3,000 candidates"] > costs["linucb chooses among 3,000"]


def test_a_learner_that_takes_too_long_to_make_is_left_out_with_the_reason(capsys):
    args = face.parse(Args, None, ["--quick", "--candidates", "6000", "--patience-seconds", "0"])
    assert [row.name for row in candidates(args)] == ["an application, 6,000 candidates"]
    assert "posterior among 6,000 is left out: to make it would take about" in capsys.readouterr().err
