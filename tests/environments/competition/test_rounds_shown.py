"""Rounds on the screen and in a line."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace

import msgspec
import numpy as np
from rich.console import Console

from onward.environments.competition.played import shown
from onward.environments.figures.recording import Recording
from onward.environments.figures.screen import Display, panel, tables
from onward.environments.figures.sections import RunProgress, RunView, ShownWorld
from onward.schemas.events import Coverage, PromiseChange, Recourse, Threshold

NOTHING = Recording().summary({})
OTHER = ShownWorld(RunProgress(0, 60, "0 of 60 rejected people answered"), "")
CLOSED = Threshold(
    "grants", 0, 7, "2026-11-30T00:00:00Z", 9, 19, 12, 7, 5, 9, 0.612, 0.701, 0.7, 8,
    Coverage(0.95, 0.962, 8), 6, ("newcomers",), "m",
)  # fmt: skip


def ended(status, score, number):
    return PromiseChange("grants", 0, f"{status}{number}", status, None, "x", score, 0.7, 0, 1, 1)


def figures(*rounds):
    """Four promises that were reached, of which three were kept, one that expired, and one that is open."""
    season = SimpleNamespace(outcomes=[SimpleNamespace(feasibility=np.array([0.783]))])
    recording = Recording()
    for number in range(6):
        recording.note(Recourse("grants", 0, f"a{number}", 0, (), "p", "v", "s", "m", target_score=0.7))
    for event in (*(ended("kept", 0.8, n) for n in range(3)), ended("broken", 0.8, 0), ended("expired", None, 0)):
        recording.note(event)
    for closed in rounds:
        recording.note(closed)
    return shown(recording, 60, [season])


def drawn(own):
    console = Console(width=100, record=True, file=StringIO())
    console.print(panel(RunView(NOTHING, own)), tables(RunView(NOTHING, own)))
    return console.export_text()


def test_the_screen_shows_thresholds_goals_coverage_and_promises():
    text = drawn(figures(CLOSED))
    assert "1 of 60 rounds closed" in text
    assert "rejected people answered" not in text
    for figure in ("0.612", "0.701", "drift in round 7: newcomers"):
        assert figure in text
    assert "coverage 75.0% (nominal 95.0%)" in text
    assert "3 kept, 1 broken, 0 superseded, 1 expired, 1 open" in text
    assert "78.3% of the rejected came back with the score they were told" in text


def test_a_round_that_rejects_nobody_has_no_goal_and_programs_are_told_apart():
    other = msgspec.structs.replace(CLOSED, program="prizes", goal=None, threshold=0.0, drift=())
    text = drawn(figures(CLOSED, other))
    assert "grants" in text
    assert "prizes" in text
    assert "grants" not in drawn(figures(CLOSED))
    assert " - " in text


def test_plots_have_a_line_for_each_program_and_the_nominal_coverage():
    other = msgspec.structs.replace(CLOSED, program="prizes", goal=None)
    [section] = figures(CLOSED, other).sections
    thresholds, coverage = section.plots
    assert [line.label for line in thresholds.lines[::2]] == ["grants: threshold", "prizes: threshold"]
    assert [list(line.y) for line in coverage.lines] == [[0.962], [0.962], [0.95, 0.95]]


def test_a_line_has_the_last_round_and_runs_without_rounds_say_nothing_of_them(capsys):
    display = Display()
    display.show(RunView(NOTHING, figures(CLOSED)))
    line = capsys.readouterr().err
    assert line.startswith("1 of 60 rounds closed, 0 events/s, threshold 0.612, next goal 0.701, coverage 75.0%")
    display.show(RunView(NOTHING, OTHER))
    assert "rounds" not in capsys.readouterr().err
    assert "coverage" not in drawn(OTHER)


def test_before_the_first_round_is_closed_no_round_is_told_as_people(capsys):
    Display().show(RunView(NOTHING, shown(Recording(), 60)))
    assert capsys.readouterr().err == "0 of 60 rounds closed, 0 events/s\n"
    text = drawn(shown(Recording(), 60))
    assert "0 of 60 rounds closed" in text
    assert "rejected people answered" not in text
