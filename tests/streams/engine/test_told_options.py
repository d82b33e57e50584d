"""What a program tells people of: options that help, and of which more is no less, or which say where to stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import UNSET

from onward import load_program
from onward.schemas.events import Change, NoRecourse, Recourse, Value
from onward.schemas.table import read_table
from onward.streams.api.program import Program
from onward.streams.programs.bundle.manifest import Manifest
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.tests.support.loans import write_loans

SPEC = """\
program: loan
features:
  - {name: income, type: integer, bounds: [0, 200], max_change: 40, mutable: up}
  - {name: debts, type: integer, bounds: [0, 20], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid, desired: 1}
model: {manifest: model/manifest.json}
policy: {window: {steps: 4}, %s}
"""
SHARES = np.linspace(0.0, 1.0, 9)
LARGEST = {"income": 40, "debts": 20}
BOUNDS = {"income": (0, 200), "debts": (0, 20)}

Answer = Recourse | NoRecourse


def told(folder: Path, policy: str) -> tuple[Program, list[dict[str, Value]], list[Answer], Manifest]:
    """What the rows of the data that a forest rejects are told."""
    write_loans(folder / "loans.csv")
    (folder / "loan.yaml").write_text(SPEC % policy)
    loaded = load_program_spec(folder / "loan.yaml")
    manifest = train(folder / "loans.csv", loaded, folder / "model", estimator="random_forest", seed=0)
    rows, program = read_table(folder / "loans.csv", loaded.spec).rows, load_program(folder / "loan.yaml")
    answers = [answer for answer in program.suggest(rows) if isinstance(answer, Answer)]
    return program, rows, answers, manifest


def end_of(change: Change) -> float:
    """How far somebody may go who is told of a change."""
    assert isinstance(change.target, int)
    assert isinstance(change.current, int)
    if isinstance(change.at_most, int):
        return change.at_most
    sign = 1 if change.target > change.current else -1
    low, high = BOUNDS[change.feature]
    return min(max(change.current + sign * LARGEST[change.feature], low), high)


@pytest.mark.parametrize("objective", ["improvement", "cost"])
def test_whatever_is_done_more_is_accepted_as_far_as_the_option_says(tmp_path: Path, objective: str) -> None:
    program, rows, answers, _ = told(tmp_path, f"objective: {objective}, margin: 0, overshoot: limit")
    people: list[dict[str, Value]] = []
    ends = 0
    for answer in (answer for answer in answers if isinstance(answer, Recourse)):
        limited = [any(change.at_most is not UNSET for change in option.changes) for option in answer.options]
        assert limited == sorted(limited)
        ends += sum(limited)
        for option in answer.options:
            for whole in (option.changes, *((change,) for change in option.changes)):
                target = rows[int(answer.application)] | {change.feature: change.target for change in option.changes}
                for share in SHARES:
                    more = {c.feature: round(c.target + share * (end_of(c) - c.target)) for c in whole}
                    people.append({**target, **more})
    assert ends or objective == "improvement"
    assert (np.array(program.score(people)) > program.threshold).all()


def test_who_has_only_options_below_the_floor_is_told_that_they_would_not_help(tmp_path: Path) -> None:
    _, _, answers, manifest = told(tmp_path, "objective: cost, margin: 0, least_help: 0.93, least_gain: 0.2")
    reasons = [answer.reason for answer in answers if isinstance(answer, NoRecourse)]
    lost = manifest.measured.served.below_floor
    assert "would_not_help" in reasons
    assert len(answers) > len(reasons)
    assert 0.0 < lost == manifest.measured.served.without_option
    assert manifest.improvement is not UNSET
