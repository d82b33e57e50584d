"""A feature that stops helping, over real sockets: improvement before and after, and what the learner found."""

from __future__ import annotations

import json

import pytest

from onward.environments.shift import Phases, ShiftSummary, phases
from onward.streams.cli import main
from onward.tests.streams.cli.test_demo import KEYS


def test_the_demo_shows_improvement_before_and_after_a_shift_and_what_was_learned(tmp_path, capsys):
    page, picture = tmp_path / "page.html", tmp_path / "demo.svg"
    files = ["--report", str(page), "--picture", str(picture)]
    code = main(["demo", "--world", "shift", "--people", "60", "--seed", "1", "--json", *files])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    summary = json.loads(printed.out)
    assert list(summary) == [*KEYS, "shift"]
    shift = summary["shift"]
    assert (shift["feature"], shift["at"]) == ("card_utilisation", summary["rejected"] // 2 // 3)
    assert list(shift["improvement"]) == list(summary["policies"]) == ["protoar", "residual"]
    own = shift["improvement"]["residual"]
    assert 0 < own["just_after"] < own["before"] < 1
    assert own["before"] > shift["improvement"]["protoar"]["before"]
    assert list(shift["omega"]) == ["residual"]
    omega = shift["omega"]["residual"]
    assert omega["card_utilisation"] == max(omega.values()) > 0
    assert "age_band" not in omega, "nobody is told to change it"
    for drawn in (page.read_text(encoding="utf-8"), picture.read_text(encoding="utf-8").replace("&#160;", " ")):
        assert "card_utilisation stops helping once 18 rejected people are answered" in drawn
        assert f"{own['before']:.3f}" in drawn


class Point:
    """A score: the first of ``rounds`` suggestions improved 1, 2, 3 ... tenths."""

    def __init__(self, rounds: int) -> None:
        self.rounds = self.suggestions = rounds
        self.improvement = (rounds + 1) / 20


@pytest.mark.parametrize(
    ("answers", "expected"),
    [(0, (None, None, None)), (3, (0.2, None, None)), (4, (0.2, 0.4, None)), (9, (0.2, 0.4, 0.9))],
)
def test_phases_are_means_over_the_answers_of_each_part(answers, expected):
    found = phases([Point(rounds) for rounds in range(1, answers + 1)], shift=3, rejected=9)
    assert (found.before, found.just_after, found.end) == pytest.approx(expected)


def test_a_feature_is_named_only_where_it_helps_clearly_less_than_expected():
    omega = {"residual": {"savings": 0.6, "income": 0.3}, "other": {"savings": 0.1, "income": -0.4}}
    shift = ShiftSummary("savings", 3, {"residual": Phases(0.9, 0.5, 0.7)}, omega)
    assert shift.least_helpful == {"residual": "savings", "other": None}
