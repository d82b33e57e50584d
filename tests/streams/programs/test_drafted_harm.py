"""Data of twelve trades, drafted, trained and answered without an edit: no option changes what nobody knows to be
harmless, and no label is taken that name or data speak against."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from onward.schemas.draft import draft_spec
from onward.schemas.draft.questions import DraftAnswers, DraftDecisions
from onward.schemas.events import Recourse, Value
from onward.schemas.spec import UNDECIDED
from onward.schemas.specfile import SpecError
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.streams.replay.suggestions import suggest
from onward.tests.support.small_models import small_priors

ROWS, PEOPLE = 320, 80
AMOUNT = "amount"
FLAG = "flag"
Cells = str | Sequence[str]


class Trade(NamedTuple):
    """A data set: its label with the values of a bad and a good outcome, its columns, and those that may be open.

    ``amount`` columns go with the outcome, ``flag`` ones hold 0 and 1, others texts.
    """

    label: str
    values: tuple[str, str]
    columns: Mapping[str, Cells]
    open_ones: Mapping[str, str]
    desired: Value = UNDECIDED


TRADES = {
    "mortgages": Trade(
        "deny",
        ("1", "0"),
        {"applicant_income": AMOUNT, "black": FLAG, "minority_income_ratio": AMOUNT, "purchaser_type": list("0123")},
        {"applicant_income": "up"},
        0,
    ),
    "loans": Trade(
        "charged_off",
        ("Y", "N"),
        {"annual_income": AMOUNT, "income_verified": FLAG, "old_balance_at_default": AMOUNT, "recoveries": AMOUNT},
        {"annual_income": "up"},
        "N",
    ),
    "flipped": Trade("default", ("0", "1"), {"savings": AMOUNT, "dep": FLAG}, {"savings": "up"}),
    "job applications": Trade(
        "callback", ("no", "yes"), {"firstname": ["Lakisha", "Laurie", "Emily"], "years_exp": AMOUNT, "h": FLAG}, {}
    ),
    "hiring": Trade(
        "hired", ("no", "yes"), {"name": ["Ann", "Bo"], "score_test": AMOUNT, "records": ["yes", "no"]}, {}
    ),
    "admission": Trade("admitted", ("0", "1"), {"parents_income": AMOUNT, "gpa": AMOUNT, "legacy": FLAG}, {}, 1),
    "re-employment": Trade("y", ("0", "1"), {"hispan": FLAG, "re75": AMOUNT, "unem": FLAG, "old": FLAG}, {}),
    "codes": Trade("repaid", ("0", "1"), {"savings": list("12345"), "income": list("123456789"), "debts": FLAG}, {}),
    "churn": Trade("churn", ("Yes", "No"), {"tenure": AMOUNT, "monthly_charges": AMOUNT, "plan": ["a", "b"]}, {}),
    "dates": Trade(
        "late", ("True", "False"), {"savings_2019": AMOUNT, "year_joined": AMOUNT, "income_at_loss": AMOUNT}, {}
    ),
    "rent": Trade("evicted", ("1", "2"), {"household_income": AMOUNT, "rent": AMOUNT, "sold_to": ["x", "y"]}, {}),
    "auf Deutsch": Trade("bewilligt", ("nein", "ja"), {"einkommen": AMOUNT, "alter": AMOUNT, "beruf": ["x", "y"]}, {}),
}


def written(folder: Path, trade: Trade) -> Path:
    """Its data, and `debt`: what people owe says nothing of the outcome, and is all that is surely harmless."""
    random = np.random.default_rng(5)
    quality = random.normal(size=ROWS)
    good = quality + random.normal(scale=0.7, size=ROWS) > 0
    columns: dict[str, Sequence[object]] = {}
    for name, cells in trade.columns.items():
        if cells == AMOUNT:
            columns[name] = np.round(5000 + 1000 * quality + random.normal(scale=900, size=ROWS)).astype(int).tolist()
        else:
            columns[name] = random.choice([0, 1] if cells == FLAG else list(cells), size=ROWS).tolist()
    columns["debt"] = random.integers(0, 900, size=ROWS).tolist()
    columns[trade.label] = [trade.values[int(one)] for one in good]
    file = folder / "data.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return file


@pytest.mark.parametrize("trade", TRADES.values(), ids=TRADES)
def test_no_option_changes_what_nobody_knows_to_be_harmless(tmp_path: Path, trade: Trade) -> None:
    data, place = written(tmp_path, trade), tmp_path / "spec.yaml"
    place.write_text(draft_spec(data, trade.label).text)
    if trade.desired == UNDECIDED:
        with pytest.raises(
            SpecError, match=r"label.desired: nobody has decided which value of .*: write that value in place"
        ):
            load_program_spec(place)
        good = trade.values[1]
        said: Value = int(good) if good.isdigit() else good
        place.write_text(draft_spec(data, trade.label, DraftDecisions(DraftAnswers({trade.label: said}))).text)
    spec = load_program_spec(place)
    assert trade.desired in (UNDECIDED, spec.spec.label.desired)
    known = {**trade.open_ones, "debt": "down"}
    assert {own.name: own.mutable for own in spec.spec.features if own.mutable != "none"} == known
    with small_priors():
        train(data, spec, tmp_path / "model", estimator="logistic_regression", seed=0)
    program = assemble(spec)
    with data.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    people = {
        str(number): {
            own.name: row[own.name] if own.bounds is None else float(row[own.name]) for own in spec.spec.features
        }
        for number, row in enumerate(rows[:PEOPLE])
    }
    answers = list(suggest(program, people, 0))
    assert answers
    changes = [
        change
        for answer in answers
        if isinstance(answer, Recourse)
        for option in answer.options
        for change in option.changes
    ]
    assert {change.feature for change in changes} <= known.keys()
    for change in changes:
        assert isinstance(change.target, int | float)
        assert isinstance(change.current, int | float)
        assert (change.target > change.current) is (known[change.feature] == "up")
