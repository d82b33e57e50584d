"""The worked person of the page about options is found by the search as the page says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from onward.agents.sigmoid import sigmoid
from onward.schemas.table import read_table
from onward.streams import cli
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec

DOCS = Path(__file__).parents[1] / "docs"


def test_the_search_measures_for_the_worked_person_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "options.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \| (\d+) \| (.*?) \| ([.\d]+) \| ([.\d]+) \| ([.\d]+) \|$", page, re.MULTILINE)
    assert [step for step, *_ in rows] == ["single moves", "combinations", "variations"]
    shutil.copy(DOCS / "examples" / "loans.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["spec", "draft", "loans.csv", "--label", "repaid", "--output", "loans.yaml"]) == 0
    assert cli.main(["train", "loans.csv", "--spec", "loans.yaml", "--output", "model"]) == 0
    program = assemble(load_program_spec(tmp_path / "loans.yaml"))
    generator = program.vetting_under(program.bundle).generator
    person = read_table(tmp_path / "loans.csv", program.spec).X[:1]
    found = generator._aimed.targets(person)
    assert len(found.owner) == sum(int(measured) for _, measured, *_ in rows)

    carried_out, helps = np.exp(-program.nu * found.cost), sigmoid(found.helps)
    together = np.where(found.accepted, carried_out * helps, 0.0)
    steps, measured = generator._aimed.steps(found), 0
    for _, more, words, *told in rows:
        measured += int(more)
        best = int(together[:measured].argmax())
        sizes = [abs(int(b) - int(a)) for a, b in re.findall(r"from (\d+) to (\d+)", words)]
        assert sizes == np.abs(steps[best][steps[best] != 0]).tolist()
        assert told == [f"{of[best]:.2f}" for of in (carried_out, helps, together)]
