"""What the demo shows of its summary."""

from __future__ import annotations

from io import StringIO

import msgspec
import pytest
from rich.console import Console

from onward.environments.figures import screen
from onward.environments.figures.recording import Latency, PolicySummary, Summary
from onward.environments.figures.screen import LiveDisplay, panel, tables
from onward.environments.figures.sections import RunProgress, RunView, Section, ShownWorld
from onward.schemas.events import Change, Option, Recourse

SHOWN = ShownWorld(RunProgress(5, 5, "5 of 5 rejected people answered"), "")
NOBODY = Summary(
    5, 5, 0, 5, 0, 0, 0, 0, {}, 0, {"protoar": PolicySummary(0.0, None, None, 0.0)}, 0.0, 1.0, Latency(1.0, 2.0), 1.0
)


def drawn(summary: Summary) -> str:
    console = Console(width=120, record=True, file=StringIO())
    console.print(panel(RunView(summary, SHOWN)), tables(RunView(summary, SHOWN)))
    return console.export_text()


def test_what_a_world_shows_is_text_and_no_markup():
    own = Section("own", [("name", "number"), ("[red]x", "7")], ["[bold]a line"])
    console = Console(width=120, record=True, file=StringIO())
    console.print(panel(RunView(NOBODY, SHOWN._replace(sections=[own]))))
    text = console.export_text()
    assert "[red]x" in text
    assert "[bold]a line" in text


def test_where_nobody_was_served_nothing_is_a_share_of_the_oracle_s():
    text = drawn(NOBODY)
    assert "100%" not in text
    assert "100.0% without a way forward" in text


def test_many_changes_are_shown_where_there_are_any():
    assert "more than 4" not in drawn(msgspec.structs.replace(NOBODY, many_changes_share=0.0, mean_changes=1.5))
    text = drawn(msgspec.structs.replace(NOBODY, many_changes_share=0.25, mean_changes=3.0))
    assert "3.0 changes an option, more than 4 in 25.0% of them" in text
    assert "options with more than 4 changes" in text


def test_the_recourse_of_people_is_shown_in_words_and_that_outcomes_are_simulated():
    option = Option("3", (Change("savings", 100, 2500, "EUR"),), 0.2, 0.9, 1.0)
    recourse = Recourse("loan", 0, "a7", 0, (option,), "protoar", "v", "s", "m")
    text = drawn(msgspec.structs.replace(NOBODY, examples=(recourse,)))
    assert text.count("a7: 1 way forward") == 2
    assert text.count("raise savings from 100 to 2,500 EUR") == 2
    assert text.count("outcomes are simulated") == 2


def test_a_long_option_goes_on_below_its_first_word():
    changes = tuple(Change(f"payments_{number}", 1000, 500, "EUR") for number in range(4))
    recourse = Recourse("loan", 0, "a7", 0, (Option("3", changes, 0.2, 0.9, 1.0),), "protoar", "v", "s", "m")
    lines = drawn(msgspec.structs.replace(NOBODY, examples=(recourse,))).splitlines()
    number = next(number for number, line in enumerate(lines) if "1. lower" in line)
    assert "(cost" in lines[number + 1]
    margin = lines[number].index("lower")
    assert not lines[number + 1][1:margin].strip()
    assert lines[number + 1][margin] != " "


def test_the_screen_shows_what_people_are_told_above_the_figures_of_the_learners():
    option = Option("3", (Change("savings", 100, 2500, "EUR"),), 0.2, 0.9, 1.0)
    recourse = Recourse("loan", 0, "a7", 0, (option,), "protoar", "v", "s", "m")
    text = drawn(msgspec.structs.replace(NOBODY, examples=(recourse,)))
    assert text.index("raise savings") < text.index("of the oracle's")


@pytest.mark.parametrize(("takes", "shown"), [(0.0, 41), (1.0, 1 + 10 // (1 + 9))])
def test_the_screen_is_drawn_at_once_and_less_often_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, takes: float, shown: int
) -> None:
    now, times = 100.0, 0

    def view() -> RunView:
        nonlocal now, times
        now, times = now + takes, times + 1
        return RunView(NOBODY, SHOWN)

    monkeypatch.setattr(screen, "monotonic", lambda: now)
    monkeypatch.setattr(LiveDisplay, "show", lambda self, view: None)
    display = LiveDisplay(Console(file=StringIO(), force_terminal=True))
    while now <= 110.0:
        display.update(view)
        now += 0.125
    assert times == shown
