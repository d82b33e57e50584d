from __future__ import annotations

import pytest

from onward.agents.choices import registry
from onward.benchmarks import face
from onward.benchmarks.candidates import CHOICES, Args, candidates
from onward.streams.errors import UsageError


def test_every_number_of_candidates_has_its_figures():
    rows = list(candidates(face.parse(Args, None, ["--quick", "--applications", "200", "--candidates", "10,3000"])))
    costs = {row.name: row.value for row in rows}
    chooses = "{} chooses among {}"
    titles = (chooses, f"{chooses}, p99", f"{chooses}, CPU", f"{chooses}, CPU p99", "{} is made for {}")
    choices = [title.format(name, count) for name in CHOICES for count in ("10", "3,000") for title in titles]
    assert list(costs) == [*choices, "an application, 10 candidates", "an application, 3,000 candidates"]
    assert all(costs[title] <= costs[f"{title}, p99"] for title in costs if f"{title}, p99" in costs)
    assert 0 < costs["linucb chooses among 10"] < costs["linucb chooses among 3,000"]
    assert costs["an application, 3,000 candidates"] > costs["linucb chooses among 3,000"]


def test_a_choice_that_takes_too_long_is_told_after_how_many_steps():
    line = ["--quick", "--applications", "200", "--candidates", "3000", "--choices", "gp_ucb"]
    rows = list(candidates(face.parse(Args, None, [*line, "--patience-seconds", "0"])))
    cut = next(row for row in rows if row.name == "gp_ucb chooses among 3,000, steps taken")
    assert (cut.value, cut.reference) == (1, 50)


def test_every_choice_is_measured_and_another_is_refused():
    assert set(CHOICES) == set(registry)
    with pytest.raises(UsageError, match="--choices: there is no 'best'"):
        list(candidates(face.parse(Args, None, ["--quick", "--choices", "linucb,best"])))
