"""Retrained models on the screen and in a line."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace

from rich.console import Console

from onward.environments.figures.recording import PromiseSummary, Recording
from onward.environments.figures.screen import Display, panel, tables
from onward.environments.figures.sections import RunProgress, RunView
from onward.environments.retrained.played import ReturnsSummary, promises_of, shown
from onward.schemas.events import Change, Option, PromiseChange, Recourse

RETURNS = (
    ReturnsSummary("r-robust", 0, 30, 0),
    ReturnsSummary("r-robust", 1, 10, 1),
    ReturnsSummary("r-plain", 0, 0, 0),
    ReturnsSummary("r-plain", 1, 0, 0),
)
PLAYED = [SimpleNamespace(days=57, served=RunProgress(57, 200, "day 57 of 200"), returns=RETURNS)]
NOTHING = Recording().summary({})


def option(target=2.0, id="1", **fields):
    return Option("7", (Change("income", 1.0, target),), 0.1, 0.9, 1.0, id, **fields)


def recourse(name, *options, **fields):
    return Recourse("loans", 0, name, 0, options or (option(),), "protoar", "v", "s", "m1", **fields)


def read():
    recording = Recording()
    opened = [option(status="open"), option(3.0, "2", status="open"), option(4.0, "3", status="open")]
    for event in (
        recourse("a", *opened),
        recourse("b"),
        PromiseChange("loans", 0, "a", "broken", options=("1",), reason="model"),
        recourse("a", opened[0], revision=1),
        PromiseChange("loans", 0, "a", "superseded", options=("2", "3"), reason="approved"),
        PromiseChange("grants", 0, "x", "kept", target_score=0.7),
    ):
        recording.note(event)
    return recording


def figures():
    return shown(read(), PLAYED, {"r-robust": "robust", "r-plain": "plain"})


def test_promised_options_are_counted_by_what_became_of_them():
    assert promises_of(read()) == PromiseSummary(open=1, kept=0, broken=1, expired=0, superseded=2)


def test_the_screen_shows_the_day_and_who_is_turned_away_under_each_model():
    console, view = Console(width=110, record=True, file=StringIO()), RunView(NOTHING, figures())
    console.print(panel(view), tables(view))
    text = console.export_text()
    assert "day 57 of 200" in text
    assert "rejected people answered" not in text
    for figure in ("model 1", "model 2", "0 of 30 (0.0%)", "1 of 10 (10.0%)", "1 of 40 (2.5%)"):
        assert figure in text
    assert "promises: 0 kept, 1 broken, 2 superseded, 0 expired, 1 open" in text


def test_a_line_has_the_day_and_the_shares(capsys):
    Display().show(RunView(NOTHING, figures()))
    line = capsys.readouterr().err
    assert line.startswith(
        "day 57 of 200, 0 events/s, turned away of those who did what was asked: robust 2.5%, plain -, promises"
    )
