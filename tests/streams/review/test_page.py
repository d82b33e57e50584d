"""The page of a review: what the command prints, as one file that stands alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import onward
from onward.streams.cli import main
from onward.tests.support.loans import reviewed_spec, write_loans


def test_the_page_tells_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, data, page = tmp_path / "loans.yaml", tmp_path / "loans.csv", tmp_path / "review.html"
    spec.write_text(reviewed_spec())
    write_loans(data)
    onward.train(data, spec, tmp_path / "model", estimator="logistic_regression")
    review = ["spec", "review", str(spec), "--data", str(data), "--people", "40", "--json"]
    assert main([*review, "--output", str(page)]) == 0
    printed, html = json.loads(capsys.readouterr().out), page.read_text(encoding="utf-8")
    told = printed["people"] - sum(printed["none"].values())
    assert f"{printed['rejected']} of {printed['rows']} people of the data are rejected. 40 of them" in html
    for use in printed["features"]:
        assert use["up"] + use["down"] == use["options"]
        counts = f"{use['people']} of {told}", str(use["up"]), str(use["down"]), str(use["only_way"])
        row = re.search(rf">{use['feature']}</th>.*?</tr>", html)
        assert row
        assert tuple(re.findall(r'class="num">([^<]*)<', row[0])) == counts
    assert html.count("<h3>Person ") == len(printed["examples"])
    assert all(suspicion["text"].split(":")[0] in html for suspicion in printed["suspicions"])
    assert "<link" not in html
    assert main([*review, "--output", str(tmp_path / "nowhere" / "review.html")]) == 2
    assert "the review cannot be written" in capsys.readouterr().err
