"""The public Python API: the names, their examples, and the same answers and error lines as the command."""

import doctest
import importlib
import inspect
import json
import re
import runpy
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import numpy
import polars
import pytest

import onward
from onward.schemas.table import NO_VALUE
from onward.streams.cli import main
from onward.tests.support.loans import write_loans

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = DOCS / "examples" / "suggest.py"
FRAMES = DOCS / "examples" / "frames.py"
MODULES = (
    "schemas.events",
    "streams.api.elicitation",
    "streams.api.program",
    "streams.api.suggestions",
    "streams.api.training",
)
ADA = {"income": 55, "debts": 6, "region": "north"}
BOB = {"income": 95, "debts": 0, "region": "south"}
AT = datetime(2026, 3, 1, tzinfo=UTC)


class Frame:
    """What is used of pandas: ``to_dict("records")``, whose values may be numpy's."""

    def __init__(self, rows):
        self.rows = rows

    def to_dict(self, orient):
        assert orient == "records"
        return self.rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data, the reviewed spec and the model, as the example leaves them; and what it printed."""
    folder = tmp_path_factory.mktemp("python")
    write_loans(folder / "loans.csv")
    (folder / "printed").write_text(printed_by(EXAMPLE, folder / "loans.csv"))
    (folder / "reviewed.yaml").rename(folder / "loans.yaml")
    return folder


@pytest.fixture(scope="module")
def program(folder):
    return onward.load_program(folder / "loans.yaml")


def test_these_names_are_exported():
    assert onward.__all__ == [
        "Change",
        "Elicitation",
        "Manifest",
        "NoRecourse",
        "OnwardError",
        "OnwardWarning",
        "Option",
        "Program",
        "Question",
        "Recourse",
        "Review",
        "Step",
        "Suggestions",
        "__version__",
        "draft_spec",
        "load_program",
        "train",
    ]
    assert all(inspect.getdoc(getattr(onward, name)) for name in onward.__all__)
    assert dir(onward) == onward.__all__
    with pytest.raises(AttributeError, match="has no attribute 'suggest'"):
        onward.suggest  # noqa: B018


def test_these_names_are_those_of_its_objects():
    def of(kind):
        return sorted(name for name in vars(kind) if not name.startswith("_"))

    assert of(onward.Program) == [
        "answers",
        "elicit",
        "elicit_read",
        "features",
        "model",
        "name",
        "read",
        "read_valid",
        "review",
        "score",
        "suggest",
        "summarised",
        "threshold",
    ]
    assert of(onward.Elicitation) == ["answer", "answers", "approved", "question", "recourse", "regret"]
    assert of(onward.Suggestions) == ["summary", "to_dicts", "to_frame"]


def test_importing_onward_imports_nothing_else():
    code = "import sys, onward; print([n for n in sys.modules if n.partition('.')[0] in ('numpy', 'msgspec', 'rich')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_run(folder, tmp_path, monkeypatch, name):
    here = shutil.copytree(folder, tmp_path / "copy")
    monkeypatch.chdir(here)
    tried = doctest.testmod(importlib.import_module(f"onward.{name}"))
    assert tried.attempted > 0
    assert tried.failed == 0


def printed_by(example, *args):
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr(sys, "argv", [str(example), *map(str, args)])
        runpy.run_path(str(example), run_name="__main__")
    return printed.getvalue()


@pytest.mark.parametrize("example", [EXAMPLE, FRAMES])
def test_an_example_without_its_files_says_how_to_call_it(example):
    with pytest.raises(SystemExit, match=r"^usage: python "):
        printed_by(example)


def test_the_page_shows_the_examples_and_what_they_print(folder):
    page, code = (DOCS / "python.md").read_text(), EXAMPLE.read_text() + FRAMES.read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = [text for language, text in blocks if language == "python"]
    assert len(shown) == 6
    assert not [block for block in shown if block not in code]

    def without_digits(text):
        return re.sub(r"\d+", "N", text)

    by_frames = printed_by(FRAMES, folder / "loans.yaml", folder / "loans.csv")
    printed = without_digits((folder / "printed").read_text() + by_frames)
    outputs = [text for language, text in blocks if not language]
    assert len(outputs) == 5
    assert not [block for block in outputs if without_digits(block) not in printed]


def test_dicts_a_frame_a_csv_and_the_command_get_the_same_answers(folder, program, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("time.time_ns", lambda: round(AT.timestamp() * 1e9))
    (tmp_path / "people.csv").write_text("income,debts,region\n55,6,north\n95,0,south\n20,8,south\n")
    rows = [ADA, BOB, {"income": 20, "debts": 8, "region": "south"}]
    frame = Frame([{**row, "income": numpy.float64(row["income"]), "debts": numpy.int64(row["debts"])} for row in rows])
    assert main(["suggest", str(tmp_path / "people.csv"), "--spec", str(folder / "loans.yaml"), "--json"]) == 0
    told = capsys.readouterr()
    by_command = [json.loads(line) for line in told.out.splitlines()]
    found = [program.suggest(people, at=AT) for people in (rows, iter(rows), frame, tmp_path / "people.csv")]
    assert [answer["application"] for answer in by_command] == ["0", "2"]
    assert all(suggestions.to_dicts() == by_command for suggestions in found)
    assert told.err == found[0].summary() + "\n"


def test_a_person_gets_the_same_answer_alone_and_among_others(program):
    alone = program.suggest([ADA], at=AT)[0]
    among = program.suggest([{**BOB, "income": 0}, ADA], at=AT)[1]
    assert str(alone).splitlines()[1:] == str(among).splitlines()[1:]
    assert len(alone.options) == 2


def test_answers_are_found_by_name_and_by_place_and_nobody_is_no_error(program):
    suggestions = program.suggest([{**ADA, "who": "ada"}, {**BOB, "who": "bob"}], id="who")
    assert suggestions["ada"] is suggestions[0] is suggestions[:1][0]
    assert repr(suggestions) == "<Suggestions: 1 of 2 people rejected>"
    for error in (KeyError, onward.OnwardError):
        with pytest.raises(error, match=r"^no answer to a person named 'bob': they are approved, left out, or not"):
            suggestions["bob"]
    assert list(program.suggest([])) == []


class NAType:
    """As pandas' value for nothing: it has no truth value."""

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


@pytest.mark.parametrize("nothing", [None, float("nan"), NAType()])
def test_a_value_that_is_not_there_is_an_empty_cell(program, tmp_path, nothing):
    (tmp_path / "people.csv").write_text("income,debts,region\n55,,north\n")
    lines = []
    for people in (tmp_path / "people.csv", [{**ADA, "debts": nothing}], [{"income": 5, "region": "north"}, ADA]):
        with pytest.raises(onward.OnwardError) as error:
            program.suggest(people)
        lines.append(str(error.value))
    in_csv, in_memory, _ = lines
    assert in_csv.replace(f"{tmp_path / 'people.csv'}:2: ", "people:0: ") == in_memory


@pytest.mark.parametrize(
    ("people", "line"),
    [
        ([{**ADA, "income": "much"}], "people:0: income: "),
        ([ADA, {**ADA, "debts": 21}], "people:1: debts: 21 is outside 0 to 20"),
        ([{"income": 1, "debts": 1}], "people: region: the column is missing"),
        ([{"Income": 1, "debts": 1}], "people: income (did you mean Income?), region: the columns are missing"),
        ([ADA, ["north", 1]], "people:1: a list: give a list of dicts, a data frame, or the path of a CSV"),
        (ADA, "people are a dict: give a list of dicts, a data frame, or the path of a CSV"),
        (3, "people are a int: give a list of dicts, a data frame, or the path of a CSV"),
        (
            polars.LazyFrame([ADA]),
            "people are a LazyFrame: give a list of dicts, a data frame, or the path of a CSV, such",
        ),
        ("absent.csv", "absent.csv: cannot be read: No such file or directory"),
    ],
)
def test_people_that_cannot_be_read_are_told_in_one_line(program, people, line):
    with pytest.raises(onward.OnwardError) as error:
        program.suggest(people)
    assert str(error.value).startswith(line)
    assert len(str(error.value).splitlines()) == 1


def test_people_who_do_not_fit_can_be_left_out(program):
    people = [{**ADA, "who": "ada"}, {"who": "eve", "income": "much", "debts": 21, "region": "north"}, {"who": "ada"}]
    suggestions = program.suggest(people, id="who", skip_invalid=True)
    assert [answer.application for answer in suggestions] == ["ada"]
    assert suggestions.problems == (
        "people:1: eve: income: 'much' is not a number",
        "people:1: eve: debts: 21 is outside 0 to 20",
        "people:2: who: the name 'ada' is given twice",
        *(f"people:2: ada: {name}: {NO_VALUE}" for name in program.features),
    )
    assert suggestions.summary().splitlines()[:2] == [
        "1 of 1 person rejected",
        "left out, since they do not fit the spec: 2",
    ]
    with pytest.raises(onward.OnwardError, match="eve: income: 'much' is not a number\n"):
        program.suggest(people, id="who")


def test_every_other_mistake_raises_the_same_exception(folder, program, tmp_path):
    spec = folder / "loans.yaml"
    (tmp_path / "untrained.yaml").write_text(spec.read_text())
    for call, line in (
        (lambda: onward.load_program("absent.yaml"), "absent.yaml"),
        (lambda: onward.load_program(tmp_path / "untrained.yaml"), "manifest.json"),
        (lambda: onward.load_program(spec, options=11), "options is 11: give a whole number from 1 to 10"),
        (lambda: program.suggest([ADA], at=datetime(2026, 3, 1)), "without a time zone"),
        (lambda: program.suggest([ADA], id="who"), "who: the column is missing"),
        (lambda: onward.draft_spec(folder / "loans.csv", label="repayed"), "repayed: no such column"),
        (lambda: onward.train(folder / "loans.csv", spec, folder / "model"), "already holds something"),
        (lambda: onward.train(folder / "loans.csv", spec, folder / "m", estimator="svm"), "no estimator 'svm'"),
    ):
        with pytest.raises(onward.OnwardError, match=re.escape(line)) as error:
            call()
        assert len(str(error.value).splitlines()) == 1
