"""A world of one's own, registered by name: the demo plays it over real sockets, and shows its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar

import pytest

from onward.environments.figures.recording import Recording, Summary
from onward.environments.figures.sections import Line, Plot, Section, Shown
from onward.environments.people import PeopleWorld
from onward.environments.registry import registry
from onward.schemas.events import Recourse
from onward.streams.cli import main
from onward.tests.streams.cli.test_demo import KEYS


class Village(PeopleWorld):
    """A few generated people, who are offered the cheapest options."""

    name: ClassVar[str] = "village"
    in_words: ClassVar[str] = "a few people"
    default_people: ClassVar[int | None] = 12
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar",)
    takes_data: ClassVar[bool] = False

    def show(self, recording: Recording, summary: Summary) -> Shown:
        """Count the options that are told."""
        ways = sum(len(one.options) for one in recording.of(Recourse))
        plot = Plot("ways", [Line("all", [0, 1], [0, ways])])
        rows, lines = [("what", "number"), ("all", str(ways))], ["counted here"]
        section = Section("Ways forward", rows, lines, [plot], {"ways": ways})
        return super().show(recording, summary)._replace(sections=[section])


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    registry.add(Village)
    yield
    registry.discard(Village.name)


def test_the_demo_plays_it_and_shows_its_figures(tmp_path, capsys):
    page = tmp_path / "page.html"
    code = main(["demo", "--world", "village", "--seed", "1", "--json", "--report", str(page)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    summary = json.loads(printed.out)
    assert list(summary) == [*KEYS, "ways"]
    assert summary["applications"] == 12
    assert summary["ways"] == summary["options"] > 0
    html = page.read_text(encoding="utf-8")
    assert "<h2>Ways forward</h2>" in html
    assert "counted here" in html
    assert html.count("<svg") == 3


def test_the_commands_know_it_by_name(capsys):
    for command in ("demo", "simulate"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "village: a few people" in " ".join(capsys.readouterr().out.split())
    assert main(["demo", "--world", "moon"]) == 2
    names = "competition, elicitation, lender, options, people, retrained, shift, village"
    assert f"use one of {names}" in capsys.readouterr().err


def test_people_of_a_file_do_not_live_there(capsys):
    assert main(["demo", "--world", "village", "--data", "loans.csv"]) == 2
    assert "leave out --world village" in capsys.readouterr().err
