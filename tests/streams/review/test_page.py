"""The page of a review: what the command prints, as one file that stands alone; and its counts, from other answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import onward
from onward.streams.cli import main
from onward.tests.support.loans import reviewed_spec

ALL = 400


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec whose model rejects people who do more than some options ask, beside its data and its model."""
    folder = tmp_path_factory.mktemp("review")
    spec = folder / "loans.yaml"
    policy = "policy: {"
    assert policy in reviewed_spec()
    spec.write_text(reviewed_spec().replace(policy, f"{policy}overshoot: limit, "))
    rows = (
        f"{income},{debts},{region},{int((45 <= income <= 70) != (number % 7 == 0))}"
        for number, region in enumerate(["north", "south"] * (ALL // 2))
        for income, debts in [(number * 37 % 101, number * 23 % 20)]
    )
    (folder / "loans.csv").write_text("\n".join(["income,debts,region,repaid", *rows]))
    onward.train(folder / "loans.csv", spec, folder / "model")
    return spec


def printed(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    """What a command prints."""
    assert main([str(arg) for arg in args]) == 0
    return capsys.readouterr().out


def counted(answers: list[Mapping[str, Any]], feature: str) -> Mapping[str, int]:
    """Of how many people and options a feature is changed, counted in answers."""
    ways = [
        [
            sum(change["target"] - change["current"] for change in option["changes"] if change["feature"] == feature)
            for option in answer["options"]
        ]
        for answer in answers
    ]
    moved = [move for moves in ways for move in moves if move]
    return {
        "told": sum(any(moves) for moves in ways),
        "only": sum(all(moves) for moves in ways),
        "options": len(moved),
        "up": sum(move > 0 for move in moved),
        "down": sum(move < 0 for move in moved),
    }


def test_a_review_counts_the_answers_that_suggest_prints(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = program.with_name("loans.csv")
    review = json.loads(printed(capsys, "spec", "review", program, "--data", data, "--people", str(ALL), "--json"))
    answers = [json.loads(line) for line in printed(capsys, "suggest", data, "--spec", program, "--json").splitlines()]
    told = [answer for answer in answers if "options" in answer]
    assert review["rejected"] == review["sample"] == len(answers)
    assert (review["told"], sum(review["none"].values())) == (len(told), len(answers) - len(told))
    options = [option for answer in told for option in answer["options"]]
    fragile = sum(any("at_most" in change for change in option["changes"]) for option in options)
    assert (review["options"], review["fragile"]) == (len(options), fragile)
    assert fragile
    uses = {use["name"]: use for use in review["features"]}
    assert {name: {count: use[count] for count in counted(told, name)} for name, use in uses.items()} == {
        name: counted(told, name) for name in uses
    }
    assert set(uses) == {change["feature"] for option in options for change in option["changes"]}


def test_the_page_tells_what_the_command_prints(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "review.html"
    command = ["spec", "review", program, "--data", program.with_name("loans.csv"), "--people", "40", "--json"]
    review = json.loads(printed(capsys, *command, "--output", page))
    html = page.read_text(encoding="utf-8")
    assert f"{review['rejected']} of {review['rows']} people of the data are rejected. 40 of them" in html
    assert f"{review['fragile']} of {review['options']} ways stop working" in html
    for use in review["features"]:
        counts = f"{use['told']} of {review['told']}", str(use["up"]), str(use["down"]), str(use["only"])
        row = re.search(rf">{use['name']}</th>.*?</tr>", html)
        assert row
        assert tuple(re.findall(r'class="num">([^<]*)<', row[0])) == counts
    assert html.count("<h3>Person ") == len(review["examples"])
    assert all(suspicion["text"].split(":")[0] in html for suspicion in review["suspicions"])
    assert "<link" not in html
    assert main([str(arg) for arg in (*command, "--output", tmp_path / "nowhere" / "review.html")]) == 2
    assert "the review cannot be written" in capsys.readouterr().err
