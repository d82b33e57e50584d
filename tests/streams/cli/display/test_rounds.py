"""Rounds on the screen and in a line."""

from __future__ import annotations

from io import StringIO

import msgspec
from rich.console import Console

from onward.schemas.events import Coverage, Threshold
from onward.streams.cli.display.progress import PlainDisplay
from onward.streams.cli.display.summary import panel, tables
from onward.streams.simulation.round_stats import CoverageSummary, PromiseSummary
from onward.streams.simulation.run_stats import RunStats

BEFORE = RunStats(lambda *_: False).summary({})
CLOSED = Threshold(
    "grants", 0, 7, "2026-11-30T00:00:00Z", 9, 19, 12, 7, 5, 9, 0.612, 0.701, 0.7, 8,
    Coverage(0.95, 0.962, 8), 6, ("newcomers",), "m",
)  # fmt: skip
AFTER = msgspec.structs.replace(
    BEFORE,
    coverage=CoverageSummary(0.95, 0.962, 8),
    promises=PromiseSummary(6, 40, 2, 11, 3),
    feasibility=0.783,
    last_rounds=(CLOSED,),
)


def drawn(summary, total=60):
    console = Console(width=100, record=True, file=StringIO())
    console.print(panel(summary, total), tables(summary))
    return console.export_text()


def test_the_screen_shows_thresholds_goals_coverage_and_promises():
    text = drawn(AFTER)
    assert "8 of 60 rounds closed" in text
    assert "rejected people answered" not in text
    for figure in ("0.612", "0.701", "drift in round 7: newcomers"):
        assert figure in text
    assert "coverage 96.2% (nominal 95.0%)" in text
    assert "40 kept, 2 broken, 3 superseded, 11 expired, 6 open" in text
    assert "78.3% of the rejected came back with the score they were told" in text


def test_a_round_that_rejects_nobody_has_no_goal_and_programs_are_told_apart():
    other = msgspec.structs.replace(CLOSED, program="prizes", goal=None, threshold=0.0, drift=())
    text = drawn(msgspec.structs.replace(AFTER, last_rounds=(CLOSED, other)))
    assert "grants" in text
    assert "prizes" in text
    assert "grants" not in drawn(AFTER)
    assert " - " in text


def test_a_line_has_the_last_round_and_runs_without_rounds_say_nothing_of_them(capsys):
    display = PlainDisplay()
    display.show(AFTER, 60)
    line = capsys.readouterr().err
    assert line.startswith("8 of 60 rounds closed, threshold 0.612, next goal 0.701, coverage 96.2%")
    display.show(BEFORE, 60)
    assert "rounds" not in capsys.readouterr().err
    assert "coverage" not in drawn(BEFORE)


def test_before_the_first_round_is_closed_no_round_is_told_as_people(capsys):
    begun = msgspec.structs.replace(BEFORE, feasibility=None)
    PlainDisplay().show(begun, 60)
    assert capsys.readouterr().err == "0 of 60 rounds closed\n"
    assert "0 of 60 rounds closed" in drawn(begun)
    assert "rejected people answered" not in drawn(begun)
