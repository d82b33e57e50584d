from __future__ import annotations

from onward.benchmarks import face
from onward.benchmarks.candidates import CHOICES, Args, candidates


def test_every_number_of_candidates_has_its_figures():
    rows = list(candidates(face.parse(Args, None, ["--quick", "--applications", "200", "--candidates", "10,3000"])))
    costs = {row.name: row.value for row in rows}
    titles = ("{} chooses among {}", "{} chooses among {}, CPU", "{} is made for {}")
    choices = [title.format(name, count) for name in CHOICES for count in ("10", "3,000") for title in titles]
    assert list(costs) == [*choices, "an application, 10 candidates", "an application, 3,000 candidates"]
    assert 0 < costs["linucb chooses among 10"] < costs["linucb chooses among 3,000"]
    assert costs["an application, 3,000 candidates"] > costs["linucb chooses among 3,000"]
