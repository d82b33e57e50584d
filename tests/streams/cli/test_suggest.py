"""``onward suggest``: words for people, events for programs, errors in one line."""

import msgspec
import pytest

from onward.schemas.events import NoRecourse, Recourse
from onward.schemas.kinds import kinds
from onward.streams.cli import main
from onward.tests.support.loans import reviewed_spec, write_loans


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    write_loans(folder / "loans.csv")
    (folder / "loans.yaml").write_text(reviewed_spec())
    train = [
        "train",
        str(folder / "loans.csv"),
        "--spec",
        str(folder / "loans.yaml"),
        "--output",
        str(folder / "model"),
    ]
    assert main([*train, "--estimator", "logistic_regression"]) == 0
    (folder / "people.csv").write_text(
        "name,income,debts,region\nada,20,8,north\nbob,95,0,south\ncid,0,20,north\n", encoding="utf-8"
    )
    return folder


def suggests(folder, *args):
    return main(["suggest", str(folder / "people.csv"), "--spec", str(folder / "loans.yaml"), *args])


def test_a_rejected_person_reads_what_to_change(folder, capsys):
    assert suggests(folder, "--id", "name") == 0
    told = capsys.readouterr()
    ada = told.out.split("\n\n")[0]
    assert ada.startswith("ada: ")
    assert "raise income from 20 to " in ada
    assert " kEUR" in ada
    assert "region" not in ada
    assert "bob" not in told.out
    assert "of 3 people rejected" in told.err


def test_json_is_what_a_worker_publishes(folder, capsys):
    assert suggests(folder, "--json") == 0
    answers = [kinds["recourse"].decode(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer.application for answer in answers] == ["0", "2"]
    assert isinstance(answers[0], Recourse)
    assert all(isinstance(answer, Recourse | NoRecourse) for answer in answers)


def test_the_number_of_options_can_be_given(folder, capsys):
    assert suggests(folder, "--json", "--options", "1") == 0
    first = msgspec.json.decode(capsys.readouterr().out.splitlines()[0])
    assert len(first["options"]) == 1


@pytest.mark.parametrize(
    ("people", "args", "message"),
    [
        ("income,debts\n1,1\n", (), "people.csv:1: region: the column is missing"),
        ("income,debts,region\n1,1,west\n", (), "people.csv:2: region: 'west' is not one of 'north', 'south'"),
        (
            "income,debts,region\n1,,north\n",
            (),
            "people.csv:2: debts: the cell has no value: give one, or `missing: VALUE`",
        ),
        ("income,debts,region\n1,1,north\n", ("--id", "name"), "people.csv:1: name: the column is missing"),
        (
            "n,income,debts,region\na,1,1,north\na,1,1,north\n",
            ("--id", "n"),
            "people.csv:3: n: the name 'a' is given twice",
        ),
        ("income,debts,region\n1,1,north\n", ("--options", "11"), "--options is 11: give a number from 1 to 10"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(folder, tmp_path, capsys, people, args, message):
    (tmp_path / "people.csv").write_text(people)
    assert main(["suggest", str(tmp_path / "people.csv"), "--spec", str(folder / "loans.yaml"), *args]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 1
