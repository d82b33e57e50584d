"""``onward suggest``: words for people, events for programs, errors in one line."""

import io
import re
from pathlib import Path

import msgspec
import pytest

from onward.schemas.events import NoRecourse, Recourse
from onward.schemas.kinds import kinds
from onward.schemas.table import NO_VALUE
from onward.streams.cli import main
from onward.streams.errors import ModelError, UsageError
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


def test_without_a_model_the_command_that_trains_one_is_named(tmp_path, folder, capsys):
    (tmp_path / "my loans.yaml").write_text(reviewed_spec())
    people, spec = str(folder / "people.csv"), str(tmp_path / "my loans.yaml")
    assert main(["suggest", people, "--spec", spec]) == ModelError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert "file manifest.json is missing" in line
    command = f"`onward train DATA.csv --spec '{spec}' --output {tmp_path / 'model'}`"
    assert line.endswith(f"train the model first, as in {command}")


@pytest.mark.parametrize(
    ("people", "args", "message"),
    [
        ("income,debts\n1,1\n", (), "people.csv:1: region: the column is missing"),
        ("income\n1\n", (), "people.csv:1: debts, region: the columns are missing"),
        ("income,debts,region\n1,1,north\n", ("--id", "name"), "people.csv:1: name: the column is missing"),
        ("income,debts,region\n1,1,north\n", ("--options", "11"), "--options is 11: give a number from 1 to 10"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(folder, tmp_path, capsys, people, args, message):
    (tmp_path / "people.csv").write_text(people)
    assert main(["suggest", str(tmp_path / "people.csv"), "--spec", str(folder / "loans.yaml"), *args]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 1


def test_a_name_cannot_give_orders_to_the_terminal(folder, tmp_path, capsys):
    (tmp_path / "people.csv").write_text(
        'name,income,debts,region\n"ada\x1b[2J\nbob: nothing need change",20,8,north\n\x1b]0;x\x07,20,8,\x1b[31m\n'
    )
    people = [str(tmp_path / "people.csv"), "--spec", str(folder / "loans.yaml"), "--id", "name"]
    assert main(["suggest", *people]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "name: the name cannot be used: character 4 is U+001B, a control character" in told.err
    assert "region: " in told.err
    assert "\x1b" not in told.out + told.err


ROWS = """\
n,income,debts,region
ada,20,8,north
bob,20,,west
ada,20,8,north
cid,1200,many,north
,20,8,south
eve,20,8
fay,20,8,south
"""


def test_rows_that_cannot_be_used_are_told_and_the_others_answered(folder, tmp_path, capsys):
    people = tmp_path / "people.csv"
    people.write_text(ROWS)
    assert main(["suggest", str(people), "--spec", str(folder / "loans.yaml"), "--id", "n", "--json"]) == 2
    told = capsys.readouterr()
    assert [msgspec.json.decode(line)["application"] for line in told.out.splitlines()] == ["ada", "fay"]
    assert told.err.splitlines()[:9] == [
        f"onward: {people}:{problem}"
        for problem in (
            f"3: bob: debts: {NO_VALUE}",
            "3: bob: region: 'west' is not one of 'north', 'south'",
            "4: n: the name 'ada' is given twice",
            "5: cid: income: 1200 is outside 0 to 100",
            "5: cid: debts: 'many' is not a number",
            "6: n: the name is empty",
            "7: 3 cells for 4 columns",
        )
    ] + ["2 of 2 people rejected", "left out, since they do not fit the spec: 5"]


def test_a_value_that_was_not_given_is_not_told_as_the_person_s_own(folder, tmp_path, capsys):
    spec = tmp_path / "loans.yaml"
    text = (folder / "loans.yaml").read_text().replace("model/manifest.json", str(folder / "model" / "manifest.json"))
    spec.write_text(text.replace("mutable: up}", "mutable: up, missing: 20}"))
    (tmp_path / "people.csv").write_text("income,debts,region\nNA,4,north\n20,4,north\n")
    answers = []
    for flags in ([], ["--json"]):
        assert main(["suggest", str(tmp_path / "people.csv"), "--spec", str(spec), "--options", "1", *flags]) == 0
        answers.append(capsys.readouterr().out.split("\n\n" if not flags else "\n"))
    (lacks, given, *_), (lacks_json, given_json, *_) = answers
    assert "raise income from 20 to " in given
    assert "raise income to " in lacks
    assert "kEUR (the current value was not given)" in lacks
    assert "from 20" not in lacks
    (change,) = msgspec.json.decode(lacks_json)["options"][0]["changes"]
    assert (change["current"], change["current_given"]) == (20, False)
    assert "current_given" not in given_json


def test_the_row_number_names_a_person_whatever_rows_cannot_be_used(folder, tmp_path, capsys):
    (tmp_path / "people.csv").write_text("income,debts,region\n1\n20,8,north\n")
    assert main(["suggest", str(tmp_path / "people.csv"), "--spec", str(folder / "loans.yaml"), "--json"]) == 2
    assert msgspec.json.decode(capsys.readouterr().out)["application"] == "1"


@pytest.fixture(scope="module")
def asking(folder):
    """The same program, which asks; it begins with two plans for ada."""
    plans = "generator: plans, cost: mixed"
    text = reviewed_spec().replace("generator: search", plans) + "elicitation: {tolerance: 0.001}\n"
    (folder / "asking.yaml").write_text(text)
    return folder / "asking.yaml"


def asks(folder, asking, monkeypatch, typed, *args, person="ada"):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["suggest", str(folder / "people.csv"), "--spec", str(asking), "--id", "name", "--ask", person, *args])


def test_a_person_is_asked_at_the_terminal(folder, asking, monkeypatch, capsys):
    assert asks(folder, asking, monkeypatch, "1\n" * 3) == 0
    told = capsys.readouterr()
    assert told.out.startswith("ada: ")
    assert "Question 1: which of these would be easier for you?" in told.err
    assert "1 to 2, or 0 for none of them: " in told.err
    assert "this is what suits you best, as far as " in told.err
    assert "cost" not in told.err
    assert asks(folder, asking, monkeypatch, "1\n" * 3, "--json") == 0
    answer = kinds["recourse"].decode(capsys.readouterr().out)
    assert answer.answers[0] == 1
    assert answer.regret >= 0.0


def test_nonsense_is_asked_again_and_the_end_of_the_input_ends_it(folder, asking, monkeypatch, capsys):
    assert asks(folder, asking, monkeypatch, f"three\n3\n-1\n\n{9 * '9'}\n\u00b2\n1\n", "--json") == 0
    told = capsys.readouterr()
    assert told.err.count("that is none of the numbers from 0 to 2") == 6
    assert kinds["recourse"].decode(told.out).answers[0] == 1
    assert asks(folder, asking, monkeypatch, "", "--json") == 0
    told = capsys.readouterr()
    assert "no more answers: this is what is known so far" in told.err
    assert kinds["recourse"].decode(told.out).answers == ()


def test_who_cannot_be_asked_is_told_in_one_line(folder, asking, monkeypatch, capsys):
    assert asks(folder, asking, monkeypatch, "", person="bob") == 0
    told = capsys.readouterr()
    assert (told.out, "bob: approved: there is nothing to ask" in told.err) == ("", True)
    assert asks(folder, asking, monkeypatch, "", person="eve") == 2
    assert "--ask: nobody who can be used is named 'eve'" in capsys.readouterr().err
    assert asks(folder, folder / "loans.yaml", monkeypatch, "") == 2
    assert "asks nobody: give its spec `elicitation`" in capsys.readouterr().err


def test_ctrl_c_while_a_person_is_asked_leaves_no_traceback(folder, asking, monkeypatch, capsys):
    class Interrupted(io.StringIO):
        def readline(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted())
    code = main(["suggest", str(folder / "people.csv"), "--spec", str(asking), "--id", "name", "--ask", "ada"])
    assert code == 130
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert told.out == ""


WORDS = """\
features:
  income: {name: Your income, up: earn more, value: {money: EUR, times: 1000}}
  debts: {name: Your debts, down: pay debts back}
"""


@pytest.fixture
def worded(folder, tmp_path):
    spec = tmp_path / "loans.yaml"
    model = f"manifest: {folder / 'model' / 'manifest.json'}"
    spec.write_text(reviewed_spec().replace("manifest: model/manifest.json", model) + "words: words\n")
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "en.yaml").write_text(WORDS)
    german = WORDS.replace("earn more", "mehr verdienen").replace("pay debts back", "Schulden abzahlen")
    (tmp_path / "words" / "de.yaml").write_text(german)
    return ["suggest", str(folder / "people.csv"), "--spec", str(spec)]


def test_a_spec_with_words_answers_in_them(worded, capsys):
    assert main(worded) == 0
    assert "1. Earn more: from €20,000 to €" in capsys.readouterr().out
    assert main([*worded, "--language", "de"]) == 0
    german = capsys.readouterr().out
    assert "1. Mehr verdienen: bisher 20.000\xa0€, dann " in german
    assert "Earn more" not in german
    assert main([*worded, "--json"]) == 0
    answer = msgspec.json.decode(capsys.readouterr().out.splitlines()[0])
    assert set(answer["options"][0]["text"]) == {"de", "en"}


def test_a_language_without_words_is_refused(worded, folder, capsys):
    assert main([*worded, "--language", "fr"]) == UsageError.exit_code
    assert "--language fr: the spec has no such words; there are de, en" in capsys.readouterr().err
    assert suggests(folder, "--language", "en") == UsageError.exit_code
    assert "there are none" in capsys.readouterr().err


def test_who_is_asked_in_another_language_reads_the_plans_in_it(worded, folder, capsys, monkeypatch):
    spec = Path(worded[-1])
    asking = "policy: {generator: plans, choice: protoar, cost: causal}\nelicitation: {questions: 1, tolerance: 0}\n"
    spec.write_text(asking + re.sub(r"(?m)^policy:.*\n", "", spec.read_text()))
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    assert main([*worded, "--ask", "0", "--language", "de"]) == 0
    out, err = capsys.readouterr()
    assert "Mehr verdienen: bisher 20.000" in err + out
    assert "Earn more" not in err + out
