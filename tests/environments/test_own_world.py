"""The world of docs/how-to/add-a-world.md: the demo plays it over real sockets, and shows its figures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from onward import environments
from onward.agents.registry import Registry
from onward.environments.play.contract import SimulatedWorld
from onward.environments.registry import registry
from onward.streams.cli import main
from onward.tests.streams.cli.test_demo import KEYS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-world.md"
OTHERS = list(registry)


@pytest.fixture(autouse=True)
def village(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Adds the world: its file is found as those in the folder of worlds are."""
    folder = tmp_path_factory.mktemp("environments")
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "village.py").write_text(code, encoding="utf-8")
    environments.__path__.append(str(folder))
    [world] = Registry(SimulatedWorld, environments.__name__, [str(folder)]).values()  # type: ignore[type-abstract]
    registry.add(world)
    yield
    registry.discard(world.name)
    environments.__path__.remove(str(folder))


def test_the_demo_plays_it_and_shows_its_figures(tmp_path, capsys):
    page = tmp_path / "page.html"
    code = main(["demo", "--world", "village", "--seed", "1", "--people", "12", "--json", "--report", str(page)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    summary = json.loads(printed.out)
    assert list(summary) == [*KEYS, "told"]
    assert summary["applications"] == 24
    assert summary["options"] <= summary["told"]["income"] + summary["told"]["debts"]
    html = page.read_text(encoding="utf-8")
    assert "<h2>Told to change</h2>" in html


def test_the_commands_know_it_by_name(capsys):
    for command in ("demo", "simulate"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "village: people who ask a shop for credit (--people 60)" in " ".join(capsys.readouterr().out.split())
    assert main(["demo", "--world", "moon"]) == 2
    assert f"use one of {', '.join(sorted([*OTHERS, 'village']))}" in capsys.readouterr().err


def test_people_of_a_file_do_not_live_there(capsys):
    assert main(["demo", "--world", "village", "--data", "loans.csv"]) == 2
    assert "leave out --world village" in capsys.readouterr().err
