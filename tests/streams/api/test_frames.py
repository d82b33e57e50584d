"""Data frames in and out, and the table of a notebook."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pandas
import polars
import pytest
from msgspec.structs import replace

import onward
from onward import NoRecourse, Recourse
from onward.streams.api.suggestions import Suggestions
from onward.streams.programs.spec_check import load_program_spec

AT = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = [
    {"income": 55, "debts": 6, "region": "north"},
    {"income": 95, "debts": 0, "region": "south"},
    {"income": 20, "debts": 8, "region": "south"},
]


@pytest.fixture(scope="module")
def strict(folder: Path) -> onward.Program:
    """Nobody can raise their income, so some have no way forward."""
    text = (folder / "loans.yaml").read_text().replace("unit: kEUR, mutable: up", "unit: kEUR, mutable: none")
    (folder / "strict.yaml").write_text(text)
    return onward.load_program(folder / "strict.yaml")


def test_frames_of_both_libraries_and_dicts_get_the_same_answers(program: onward.Program) -> None:
    people = (ROWS, pandas.DataFrame(ROWS), pandas.DataFrame(ROWS, dtype="string"), polars.DataFrame(ROWS))
    first, *others = [program.suggest(one, at=AT).to_dicts() for one in people]
    assert [answer["application"] for answer in first] == ["0", "2"]
    assert others == [first] * 3
    assert program.suggest(pandas.DataFrame(ROWS[:0], columns=[*ROWS[0]])).people == 0
    scores = program.score(ROWS)
    assert program.score(polars.DataFrame(ROWS)) == program.score(pandas.DataFrame(ROWS)) == scores


def test_the_index_names_the_people_and_their_options(program: onward.Program) -> None:
    frame = pandas.DataFrame(ROWS, index=pandas.Index([7, 11, 13], name="case"))
    suggestions = program.suggest(frame)
    assert [answer.application for answer in suggestions] == ["7", "13"]
    assert program.suggest(frame, id="case", at=AT).to_dicts() == program.suggest(frame, at=AT).to_dicts()
    by_row = pandas.DataFrame(ROWS).rename_axis("case")
    assert [answer.application for answer in program.suggest(by_row, id="case")] == ["0", "2"]
    joined = frame.join(suggestions.to_frame(), how="inner")
    assert set(joined.index) == {7, 13}
    assert joined.index.name == "case"
    assert (joined.to_income.dropna() > joined.income[joined.to_income.notna()]).all()
    with pytest.raises(onward.OnwardError, match=r"^people:1: 11: income: the cell has no value"):
        program.suggest(frame.assign(income=[1, None, 2]))
    with pytest.raises(onward.OnwardError, match=r"^people:1: income: the cell has no value"):
        program.suggest(pandas.DataFrame(ROWS).assign(income=[1, None, 2]))


def test_a_frame_has_a_row_for_each_option_and_for_each_person_without_one(strict: onward.Program) -> None:
    suggestions = strict.suggest(pandas.DataFrame(ROWS, index=["ada", "bob", "eve"]), at=AT)
    ada, eve = suggestions
    assert isinstance(ada, Recourse)
    assert isinstance(eve, NoRecourse)
    frame = suggestions.to_frame()
    assert list(frame.columns) == [
        "option",
        "changes",
        "cost",
        "execution_probability",
        "improvement_probability",
        "improvement_low",
        "improvement_high",
        "reason",
        "detail",
        "advice",
        "to_debts",
    ]
    assert list(frame.index) == ["ada"] * len(ada.options) + ["eve"]
    [own, *_] = ada.options
    first, last = frame.iloc[0], frame.iloc[-1]
    assert (first.option, first.cost, first.to_debts) == ("1", own.cost, own.changes[0].target)
    assert first.changes == str(own.changes[0])
    assert (last.reason, last.detail) == (eve.reason, eve.detail)
    assert frame.drop(index="eve").reason.isna().all()
    assert last[["option", "cost", "to_debts"]].isna().all()


@pytest.mark.parametrize("library", [pandas, polars])
def test_ids_come_back_as_they_came(program: onward.Program, library: ModuleType) -> None:
    people = library.DataFrame([{**row, "id": 7 + number} for number, row in enumerate(ROWS)])
    frame = program.suggest(people, id="id").to_frame()
    if library is pandas:
        assert frame.index.dtype == people["id"].dtype
        assert set(people.set_index("id").join(frame, how="inner").index) == {7, 9}
    else:
        assert set(people.join(frame, on="id")["id"]) == {7, 9}


def test_who_breaks_a_constraint_as_they_are_is_told_of_it(folder: Path) -> None:
    text = (folder / "loans.yaml").read_text()
    (folder / "paired.yaml").write_text(text + "constraints: {le: [[income, debts]]}\n")
    told = onward.load_program(folder / "paired.yaml").suggest(ROWS).summary()
    assert "2 of the 2 without a way forward break le: income <= debts as they are, and an option must" in told
    assert "to serve more people" not in told


def test_polars_gets_a_column_of_people(strict: onward.Program, program: onward.Program) -> None:
    people = polars.DataFrame([{**row, "name": name} for row, name in zip(ROWS, "abc", strict=True)])
    frame = strict.suggest(people, id="name").to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame["name"].to_list() == ["a", "c"]
    assert frame["to_debts"].to_list()[-1] is None
    by_number = strict.suggest(polars.DataFrame(ROWS)).to_frame()
    assert by_number.rename({"person": "name"}).drop("name").equals(frame.drop("name"))
    both = program.suggest(ROWS).to_frame("polars")
    assert both.columns[:2] == ["person", "option"]
    assert both["to_income"].dtype == polars.Int64


def test_the_library_is_that_of_the_people_else_pandas(
    program: onward.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(program.suggest(ROWS).to_frame(), pandas.DataFrame)
    assert isinstance(program.suggest(polars.DataFrame(ROWS)).to_frame("pandas"), pandas.DataFrame)
    assert program.suggest([]).to_frame().empty
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(onward.OnwardError, match=r"^polars is not installed: install it, or name another of pandas"):
        program.suggest(ROWS).to_frame("polars")


def test_a_notebook_shows_a_table_and_runs_no_script(strict: onward.Program) -> None:
    names = ["<script>alert(1)</script>", "eve & co"]
    html = strict.suggest([{**ROWS[0], "name": names[0]}, {**ROWS[2], "name": names[1]}], id="name")._repr_html_()
    assert "<script" not in html
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in html
    assert "<td>eve &amp; co</td>" in html
    assert "<td>lower debts from 6 to" in html
    assert "2 of 2 people rejected" in html
    assert set(re.findall(r"</?(\w+)", html)) == {"table", "thead", "tbody", "tr", "th", "td", "p", "br"}


def test_a_notebook_shows_the_first_people_only(program: onward.Program) -> None:
    html = program.suggest([ROWS[0]] * 51)._repr_html_()
    assert "the first 50 of 51 people are shown" in html
    assert "<td>49</td>" in html
    assert "<td>50</td>" not in html


def test_how_probably_an_option_helps_stands_in_the_frame_and_the_table(folder: Path, program: onward.Program) -> None:
    [answer] = program.suggest(ROWS[:1])
    assert isinstance(answer, Recourse)
    known, unknown = answer.options
    told = replace(answer, options=(replace(known, improvement_probability=0.75), unknown))
    suggestions = Suggestions([told], 1, load_program_spec(folder / "loans.yaml").spec, 0.0, "assumed")
    for library in ("pandas", "polars"):
        helps = suggestions.to_frame(library)["improvement_probability"].to_list()
        assert helps[0] == 0.75
        assert pandas.isna(helps[1])
    cells = re.findall(r"<tr>.*?<td>([0-9.]*)</td></tr>", suggestions._repr_html_())
    assert cells == ["0.75", ""]


def test_names_give_no_orders_to_a_screen(folder: Path, program: onward.Program) -> None:
    """Journals of earlier versions may hold such names; programs take none."""
    [answer] = program.suggest(ROWS[:1])
    told = [replace(answer, application=name) for name in ("\x1b[2Jada", "\u202eeve", "two\nlines")]
    suggestions = Suggestions(told, 3, load_program_spec(folder / "loans.yaml").spec, 0.0, "assumed")
    text, html = str(suggestions), suggestions._repr_html_()
    for name in ("\\x1b[2Jada", "\\u202eeve", "two\\nlines"):
        assert f"{name}: 2 ways forward (one is enough)" in text.splitlines()
        assert f"<td>{name}</td>" in html
