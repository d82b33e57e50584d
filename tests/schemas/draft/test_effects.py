"""What drafts say of measures that go together."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import Answer, DraftAnswers, DraftDecisions, DraftQuestion
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import parse_spec

ROWS = 240
MEASURES = ("income_3m", "income_6m", "income_12m")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three measures of one income, debts that go with it under another name, and savings that go with nothing."""
    draw = np.random.default_rng(0)
    income = draw.lognormal(8, 0.5, ROWS)
    noise = {"income_3m": 0.1, "income_6m": 0.02, "income_12m": 0.1}
    columns = {name: income * np.exp(draw.normal(0, noise[name], ROWS)) for name in MEASURES}
    columns |= {"debts": income * np.exp(draw.normal(0, 0.05, ROWS)), "savings_3m": draw.lognormal(8, 0.5, ROWS)}
    label = np.log(income) - 8 + draw.normal(0, 0.5, ROWS) > 0
    with (tmp_path / "loans.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*columns, "y"])
        writer.writerows([*(round(own[row], 2) for own in columns.values()), int(label[row])] for row in range(ROWS))
    return tmp_path / "loans.csv"


def said(effects: dict[str, str], **mutable: str) -> DraftDecisions:
    return DraftDecisions(DraftAnswers({"y": 1}, dict.fromkeys((*MEASURES, "debts"), "any") | mutable, effects=effects))


def spec_of(file: Path, decisions: DraftDecisions) -> ProgramSpec:
    spec = parse_spec(draft_spec(file, "y", decisions).text.encode())
    assert isinstance(spec, ProgramSpec), spec
    return spec


def test_what_nobody_has_said_follows_nothing_and_stands_as_a_comment(file):
    draft = draft_spec(file, "y", said({}))
    assert not spec_of(file, said({})).effects
    # The parent is the measure that is nearest to the mean of all.
    assert "#  - [income_6m, income_3m]  # correlation 0.9" in draft.text
    assert "#  - [income_6m, income_12m]\n" in draft.text
    assert "debts]" not in draft.text.partition("# effects:")[2]
    assert draft.to_decide == (
        "income_6m, income_3m, income_12m go together: does one follow when people change another? See `effects` in "
        "the draft",
    )


def test_the_proposal_is_a_spec_once_its_marks_are_out(file):
    text = draft_spec(file, "y", said({})).text
    begin = text.index("# effects:")
    spec = parse_spec((text[:begin] + text[begin:].replace("# effects", "effects").replace("#  -", "  -")).encode())
    assert isinstance(spec, ProgramSpec), spec
    assert spec.effects == (("income_6m", "income_3m"), ("income_6m", "income_12m"))


def test_somebody_says_which_one_the_others_follow_or_that_none_does(file):
    decisions = said({"income_3m": "income_12m"})
    assert spec_of(file, decisions).effects == (("income_12m", "income_3m"), ("income_12m", "income_6m"))
    assert decisions.unused() == []
    draft = draft_spec(file, "y", said({"income_3m": "none"}))
    assert "effects:" not in draft.text
    assert not draft.to_decide
    misfit = said({"income_3m": "debts", "savings_3m": "none"})
    assert not spec_of(file, misfit).effects
    assert misfit.unused() == [
        "effects.income_3m: 'debts' does not fit: one of 'income_3m', 'income_6m', 'income_12m', 'none' does",
        "effects.savings_3m: nothing is asked about it: no column, or no feature",
    ]


@pytest.mark.parametrize("alone", ["any", "none"])
def test_what_follows_another_measure_is_changed_by_nobody_alone(file, alone):
    decisions = said({"income_3m": "income_12m"}, income_6m=alone, income_3m=alone)
    spec = spec_of(file, decisions)
    assert spec.effects == (("income_12m", "income_3m"), ("income_12m", "income_6m"))
    assert [(one.mutable, one.max_change is None) for one in spec.features[:3]] == [
        ("follows", True),
        ("follows", True),
        ("any", False),
    ]
    text = draft_spec(file, "y", decisions).text
    assert "mutable: follows}  # guess: moves with income_12m" in text
    assert "max_changes: 1" in text, "two features are left that people change"
    assert decisions.unused() == []


@pytest.mark.parametrize("alone", ["any", "none"])
def test_relations_hold_of_measures_that_only_follow(file, alone):
    rows = list(csv.reader(file.read_text().splitlines()))
    low, high = rows[0].index("income_3m"), rows[0].index("income_6m")
    for row in rows[1:]:
        row[low] = f"{float(row[high]) * (0.9 + float(row[low]) % 1 / 20):.2f}"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    spec = spec_of(file, said({"income_3m": "income_12m"}, income_6m=alone, income_3m=alone))
    assert [one.mutable for one in spec.features[:2]] == ["follows", "follows"]
    assert ("income_3m", "income_6m") in spec.constraints.le


def test_a_measure_whose_name_says_that_nothing_changes_it_follows_nothing_until_its_line_says_otherwise(file):
    file.write_text(file.read_text().replace("income_6m", "income_previous"))
    decisions = DraftDecisions(
        DraftAnswers({"y": 1}, dict.fromkeys((*MEASURES, "debts"), "any"), effects={"income_3m": "income_12m"})
    )
    assert spec_of(file, decisions).effects == (("income_12m", "income_3m"),)
    line = "# [income_12m, income_previous] needs `mutable: follows` of income_previous first"
    assert line in draft_spec(file, "y", decisions).text


def test_who_is_asked_is_asked_once_for_each_thing_after_all_directions(file):
    asked: list[DraftQuestion] = []

    def ask(question: DraftQuestion) -> Answer | None:
        asked.append(question)
        return "any" if question.kind == "mutable" else "income_6m" if question.kind == "effects" else 1

    decisions = DraftDecisions(DraftAnswers(), ask)
    assert len(spec_of(file, decisions).effects) == 2
    assert [question.kind for question in asked][-1] == "effects"
    assert asked[-1].choices == (*MEASURES, "none")
    assert decisions.answers.effects == {"income_3m": "income_6m"}
    one_open: list[DraftQuestion] = []
    draft_spec(
        file, "y", DraftDecisions(DraftAnswers({}, {"income_3m": "up"}), lambda question: one_open.append(question))
    )
    assert "effects" in {question.kind for question in one_open}
    closed: list[DraftQuestion] = []
    draft_spec(file, "y", DraftDecisions(DraftAnswers(), lambda question: closed.append(question)))
    assert "effects" not in {question.kind for question in closed}
