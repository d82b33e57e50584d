"""Retrained models on the screen and in a line."""

from __future__ import annotations

from io import StringIO

import msgspec
from rich.console import Console

from onward.streams.cli.display.progress import PlainDisplay
from onward.streams.cli.display.summary import panel, tables
from onward.streams.simulation.promise_stats import ReturnsSummary, TurnedAway
from onward.streams.simulation.round_stats import PromiseSummary
from onward.streams.simulation.run_stats import RunStats

BEFORE = RunStats(lambda *_: False).summary({})
AFTER = msgspec.structs.replace(
    BEFORE,
    promises=PromiseSummary(6, 40, 2, 11, 3),
    turned_away=TurnedAway(0.025, None),
    returns=(
        ReturnsSummary("robust", 0, 30, 0),
        ReturnsSummary("robust", 1, 10, 1),
        ReturnsSummary("plain", 0, 0, 0),
        ReturnsSummary("plain", 1, 0, 0),
    ),
    days=57,
)


def test_the_screen_shows_the_day_and_who_is_turned_away_under_each_model():
    console = Console(width=110, record=True, file=StringIO())
    console.print(panel(AFTER, 200), tables(AFTER))
    text = console.export_text()
    assert "day 57 of 200" in text
    assert "rejected people answered" not in text
    for figure in ("model 1", "model 2", "0 of 30 (0.0%)", "1 of 10 (10.0%)", "1 of 40 (2.5%)"):
        assert figure in text
    assert "promises: 40 kept, 2 broken, 3 superseded, 11 expired, 6 open" in text


def test_a_line_has_the_day_and_the_shares(capsys):
    PlainDisplay().show(AFTER, 200)
    line = capsys.readouterr().err
    assert line.startswith("day 57 of 200, turned away of those who did what was asked: robust 2.5%, plain -, promises")
