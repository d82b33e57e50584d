"""Whatever a caller gets wrong is an ``OnwardError`` of one line."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from datetime import date, datetime, tzinfo
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import onward
from onward import Program, draft_spec, load_program, train

ADA = {"income": 55, "debts": 6, "region": "north"}
FRAME = pandas.DataFrame([ADA])
AGAIN = FRAME.rename(columns={"debts": "income"})


HUGE = 10**5000
"""Python writes no number of so many digits."""
UNPRINTABLE = (
    "the name cannot be used: character 2 is U+D800, a control character or another one that cannot be printed"
)
LONG = "cannot be used: it has 201 characters: give 1 to 200"


class Nowhere(tzinfo):
    """A time zone that does not say what it is."""

    def utcoffset(self, at: datetime | None) -> None:
        return None


def closed_file() -> StringIO:
    file = StringIO("income,debts\n1,2\n")
    file.close()
    return file


class Unwritable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.fixture(scope="module")
def wrong(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that cannot be used, each in its own way."""
    wrong = tmp_path_factory.mktemp("wrong")
    (wrong / "untrained.yaml").write_text((folder / "loans.yaml").read_text())
    (wrong / "syntax.yaml").write_text("program: [")
    shutil.copytree(folder / "model", wrong / "damaged" / "model")
    (wrong / "damaged" / "model" / "manifest.json").write_text("{")
    shutil.copy(folder / "loans.yaml", wrong / "damaged" / "loans.yaml")
    for name, facts in (("cards", {"program": "cards"}), ("lines", {"version": "a\nb\u202e"})):
        shutil.copytree(folder / "model", wrong / name / "model")
        shutil.copy(folder / "loans.yaml", wrong / name / "loans.yaml")
        manifest = wrong / name / "model" / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | facts))
    header = "income,debts,region,repaid\n"
    (wrong / "labels.csv").write_text(header + "55,6,north,maybe\n" * 20)
    (wrong / "all repaid.csv").write_text(header + "55,6,north,1\n" * 20)
    (wrong / "binary.csv").write_bytes(b"\xff\xfe\x00")
    (wrong / "people.pkl").write_bytes(pickle.dumps(FRAME))
    return wrong


LOADING: list[tuple[str, Callable[[Path, Path], Any], str]] = [
    ("no spec", lambda at, wrong: load_program(None), "spec is None: give a path"),
    ("a number for a spec", lambda at, wrong: load_program(3), "spec is 3: give a path"),
    ("bytes for a spec", lambda at, wrong: load_program(b"loans.yaml"), "spec is a bytes: give a path"),
    ("a spec that is not there", lambda at, wrong: load_program("absent.yaml"), "absent.yaml: cannot be read"),
    ("a name no file has", lambda at, wrong: load_program("a\0b"), "spec is 'a\\x00b': give a path"),
    ("a folder", lambda at, wrong: load_program(at), "cannot be read: Is a directory"),
    ("data for a spec", lambda at, wrong: load_program(at / "loans.csv"), "expected a mapping, got a text"),
    ("no YAML", lambda at, wrong: load_program(wrong / "syntax.yaml"), "while parsing"),
    ("an untrained model", lambda at, wrong: load_program(wrong / "untrained.yaml"), "manifest.json"),
    ("a damaged model", lambda at, wrong: load_program(wrong / "damaged" / "loans.yaml"), "not a model manifest"),
    (
        "a model of another program",
        lambda at, wrong: load_program(wrong / "cards" / "loans.yaml"),
        "it was trained for program cards: train or import it with the spec of loans",
    ),
    (
        "a version that cannot be printed",
        lambda at, wrong: load_program(wrong / "lines" / "loans.yaml"),
        r"its version 'a\nb\u202e' cannot be printed",
    ),
    ("too many options", lambda at, wrong: load_program(at / "loans.yaml", options=11), "options is 11: give a whole"),
    ("no options", lambda at, wrong: load_program(at / "loans.yaml", options=0), "options is 0: give a whole number"),
    ("half an option", lambda at, wrong: load_program(at / "loans.yaml", options=2.5), "options is 2.5: give a whole"),
    ("a text", lambda at, wrong: load_program(at / "loans.yaml", options="2"), "options is '2': give a whole number"),
    (
        "a huge number",
        lambda at, wrong: load_program(at / "loans.yaml", options=HUGE),
        "options is a int: give a whole",
    ),
    ("a text of lines", lambda at, wrong: load_program("a: 1\nb: 2"), r"spec is 'a: 1\nb: 2': give a path"),
    ("true", lambda at, wrong: load_program(at / "loans.yaml", options=True), "options is True: give a whole number"),
    ("the class itself", lambda at, wrong: Program("loans.yaml"), "load_program makes a program"),
    (
        "an unknown keyword",
        lambda at, wrong: load_program(at / "loans.yaml", option=1),
        "load_program: there is no argument 'option': did you mean 'options'?",
    ),
    ("nothing at all", lambda at, wrong: load_program(), "load_program: missing a required argument: 'spec'"),
    ("a pickle for a spec", lambda at, wrong: load_program(wrong / "people.pkl"), "not UTF-8 text"),
]
TRAINING: list[tuple[str, Callable[[Path, Path], Any], str]] = [
    ("no data", lambda at, wrong: train(None, at / "loans.yaml", wrong / "m"), "csv is None: give a path"),
    ("a frame", lambda at, wrong: train(FRAME, at / "loans.yaml", wrong / "m"), "csv is a DataFrame: give a path"),
    ("a dict", lambda at, wrong: train(at / "loans.csv", {}, wrong / "m"), "spec is a dict: give a path"),
    ("no folder", lambda at, wrong: train(at / "loans.csv", at / "loans.yaml", None), "output is None: give a path"),
    ("a folder in use", lambda at, wrong: train(at / "loans.csv", at / "loans.yaml", at / "model"), "already holds"),
    ("other labels", lambda at, wrong: train(wrong / "labels.csv", at / "loans.yaml", wrong / "m"), "values are maybe"),
    (
        "one label",
        lambda at, wrong: train(wrong / "all repaid.csv", at / "loans.yaml", wrong / "m"),
        "20 rows with the",
    ),
    ("an estimator", lambda at, wrong: training(at, wrong, estimator="svm"), "there is no estimator 'svm'"),
    ("its class", lambda at, wrong: training(at, wrong, estimator=dict), "estimator is a type: give a text"),
    ("a text as seed", lambda at, wrong: training(at, wrong, seed="x"), "seed is 'x': give a whole number from 0 to"),
    ("a seed below 0", lambda at, wrong: training(at, wrong, seed=-1), "seed is -1: give a whole number from 0 to"),
    ("a large seed", lambda at, wrong: training(at, wrong, seed=2**32), "seed is 4294967296: give a whole number from"),
    ("a huge seed", lambda at, wrong: training(at, wrong, seed=HUGE), "seed is a int: give a whole number from 0 to"),
    ("huge retrains", lambda at, wrong: training(at, wrong, retrains=HUGE), "retrains is a int: give a whole number"),
    ("odd retrains", lambda at, wrong: training(at, wrong, retrains=3), "3 retrains cannot be divided"),
    ("half a retrain", lambda at, wrong: training(at, wrong, retrains=0.5), "retrains is 0.5: give a whole number"),
    ("no goal policy", lambda at, wrong: training(at, wrong, goal_policy="absent"), "absent: cannot be read"),
    ("a number as policy", lambda at, wrong: training(at, wrong, goal_policy=3), "goal_policy is 3: give a path"),
    ("no CSV", lambda at, wrong: draft_spec(wrong / "binary.csv", "repaid"), "not UTF-8 text"),
    ("no path", lambda at, wrong: draft_spec(FRAME, "repaid"), "csv is a DataFrame: give a path"),
    ("no such label", lambda at, wrong: draft_spec(at / "loans.csv", "repayed"), "repayed: no such column"),
    ("a number as label", lambda at, wrong: draft_spec(at / "loans.csv", 3), "label is 3: give a text"),
    ("no label", lambda at, wrong: draft_spec(at / "loans.csv", None), "label is None: give a text"),
    ("another name", lambda at, wrong: training(at, wrong, sed=1), "train: there is no argument 'sed': did you mean"),
    (
        "nothing like it",
        lambda at, wrong: draft_spec(at / "loans.csv", "repaid", to=1),
        "draft_spec: there is no argument 'to': it takes csv, label",
    ),
    ("a pickle of data", lambda at, wrong: draft_spec(wrong / "people.pkl", "repaid"), "not UTF-8 text"),
]
ASKING: list[tuple[str, Callable[[Program], Any], str]] = [
    ("nobody", lambda own: own.suggest(None), "people are a NoneType: give a list of dicts, a data frame"),
    ("one dict", lambda own: own.suggest(ADA), "people are a dict: give a list of dicts"),
    ("a number", lambda own: own.score(3), "people are a int: give a list of dicts"),
    ("bytes", lambda own: own.suggest(b"people.csv"), "people are a bytes: give a list of dicts"),
    ("lists", lambda own: own.suggest([["north", 1]]), "people:0: a list: give a list of dicts"),
    ("a matrix", lambda own: own.suggest(np.zeros((2, 3))), "people:0: a ndarray: give a list of dicts"),
    ("a row of a frame", lambda own: own.suggest(FRAME.iloc[0]), "people are a Series: give a list of dicts"),
    ("a column of a frame", lambda own: own.suggest(FRAME["income"]), "people are a Series: give a list of dicts"),
    ("a column of polars", lambda own: own.suggest(polars.DataFrame([ADA])["debts"]), "people:0: a int: give a"),
    ("a lazy frame", lambda own: own.suggest(polars.DataFrame([ADA]).lazy()), "people are a LazyFrame: give a list"),
    ("the class of a frame", lambda own: own.suggest(pandas.DataFrame), "people are a type: give a list of dicts"),
    ("a path that is not there", lambda own: own.suggest("absent.csv"), "absent.csv: cannot be read"),
    ("a text of lines", lambda own: own.suggest("income,debts\n1,2"), r"people is 'income,debts\n1,2': give a path"),
    ("long text", lambda own: own.suggest("1,2\n" * 999), r"people is '1,2\n1,2\n1,2\n"),
    ("a closed file", lambda own: own.suggest(closed_file()), "people are a StringIO: give a list of dicts"),
    ("a path no file has", lambda own: own.suggest("a\0b"), "people is 'a\\x00b': give a path"),
    (
        "a missing column",
        lambda own: own.suggest(FRAME.drop(columns="region")),
        "people: region: the column is missing",
    ),
    ("no columns", lambda own: own.suggest([{}]), "people: income, debts, region: the columns are missing"),
    ("an empty frame", lambda own: own.suggest(pandas.DataFrame()), "people: income, debts, region: the columns are"),
    (
        "an empty frame of polars",
        lambda own: own.suggest(polars.DataFrame({"debts": []})),
        "people: income, region: the",
    ),
    ("a column given twice", lambda own: own.suggest(AGAIN), "people: income: two columns have this name"),
    ("keys of one spelling", lambda own: own.suggest([{**ADA, "é": 1, "e\u0301": 2}]), "é: two columns have this name"),
    ("no value", lambda own: own.suggest([{**ADA, "income": np.nan}]), "people:0: income: the cell has no value"),
    ("infinity", lambda own: own.suggest([{**ADA, "income": np.inf}]), "people:0: income: must be a finite number"),
    ("a text", lambda own: own.suggest([{**ADA, "income": "much"}]), "people:0: income: 'much' is not a number"),
    ("a list as value", lambda own: own.suggest([{**ADA, "income": [1]}]), "people:0: income: '[1]' is not a number"),
    ("a huge number", lambda own: own.suggest([{**ADA, "income": 10**5000}]), "people:0: income: '<int>' is not a"),
    ("what has no text", lambda own: own.suggest([{**ADA, "debts": Unwritable()}]), "'<Unwritable>' is not a number"),
    ("a date", lambda own: own.suggest([{**ADA, "debts": date(2026, 1, 1)}]), "debts: '2026-01-01' is not a number"),
    ("outside the bounds", lambda own: own.score([{**ADA, "debts": 21}]), "people:0: debts: 21 is outside 0 to 20"),
    ("another category", lambda own: own.score([{**ADA, "region": "nort\n"}]), "'nort' is not one of 'north', 'south'"),
    ("no column of names", lambda own: own.suggest([ADA], id="who"), "people: who: the column is missing"),
    ("a number as column", lambda own: own.suggest([ADA], id=0), "id is 0: give a text"),
    ("columns of names", lambda own: own.suggest([ADA], id=["a", "b"]), "id is a list: give a text"),
    ("a name twice", lambda own: own.suggest([{**ADA, "who": 1}] * 2, id="who"), "who: the name '1' is given twice"),
    ("half a letter", lambda own: own.suggest([{**ADA, "who": "a\ud800"}], id="who"), "people:0: who: " + UNPRINTABLE),
    ("an index of half a letter", lambda own: own.score(FRAME.set_index([["a\ud800"]])), "the index: " + UNPRINTABLE),
    ("a long name", lambda own: own.suggest([{**ADA, "who": "a" * 201}], id="who"), "who: the name " + LONG),
    ("an answer to half a letter", lambda own: own.answers({"a\ud800": ADA}), r"the name 'a\ud800' " + UNPRINTABLE[9:]),
    ("an answer to nobody", lambda own: own.answers({"": ADA}), "the name '' cannot be used: it has 0 characters"),
    ("an answer to a long name", lambda own: own.answers({"a" * 100_000: ADA}), "it has 100000 characters: give 1 to"),
    (
        "an index twice",
        lambda own: own.suggest(pandas.concat([FRAME, FRAME])),
        "the index: the name '0' is given twice",
    ),
    ("an index with a gap", lambda own: own.score(FRAME.set_index([[None]])), "the index: the name is empty"),
    ("an index with no value", lambda own: own.score(FRAME.set_index([[pandas.NA]])), "the index: the name is empty"),
    ("two indexes", lambda own: own.score(FRAME.set_index(["income", "debts"], drop=False)), "index has 2 levels"),
    ("a text as time", lambda own: own.suggest([ADA], at="2026-01-01"), "at is '2026-01-01': give a datetime"),
    ("a date as time", lambda own: own.suggest([ADA], at=date(2026, 1, 1)), "at is a date: give a datetime"),
    ("a time without a zone", lambda own: own.suggest([ADA], at=datetime(2026, 1, 1)), "without a time zone"),
    (
        "a zone that is none",
        lambda own: own.suggest([ADA], at=datetime(2026, 1, 1, tzinfo=Nowhere())),
        "without a time zone",
    ),
    ("no time", lambda own: own.suggest([ADA], at=pandas.NaT), "at is a NaTType: give a datetime"),
    ("a text as switch", lambda own: own.suggest([ADA], skip_invalid="no"), "skip_invalid is 'no': give True or False"),
    ("rows for answers", lambda own: own.answers([ADA]), "people are a list: give those that `read` returns"),
    ("a part of a person", lambda own: own.answers({"ada": {"debts": 1}}), "ada: income: missing"),
    ("texts for numbers", lambda own: own.answers({"ada": {**ADA, "debts": "x"}}), "ada: debts: must be a number"),
    ("features that are none", lambda own: own.answers({"ada": None}), "ada: a NoneType: give its features by name"),
    ("a number as name", lambda own: own.answers({1: ADA}), "1: give people by name, a text"),
    ("other answers", lambda own: own.summarised([1], own.read_valid([ADA])), "answers are not those of `answers`"),
    ("no answers", lambda own: own.summarised(None, own.read_valid([ADA])), "answers are not those of `answers`"),
    (
        "answers to others",
        lambda own: own.summarised(list(own.answers({"bob": ADA})), own.read_valid([ADA])),
        "answers are not those of `answers`",
    ),
    ("other people", lambda own: own.summarised([], {}), "people are a dict: give those that `read_valid` returns"),
    ("an unknown keyword", lambda own: own.suggest([ADA], skip=True), "suggest: there is no argument 'skip'"),
    ("a second position", lambda own: own.score([ADA], "id"), "score: too many positional arguments"),
    ("too many options", lambda own: own.suggest([ADA], options=11), "options is 11: give a whole number from 1 to 10"),
    ("no such name", lambda own: own.suggest([ADA])["bob"], "no answer to a person named 'bob'"),
    ("no such place", lambda own: own.suggest([ADA])[5], "no answer at place 5: there is 1"),
    ("half a place", lambda own: own.suggest([ADA])[1.5], "an answer has a place or a name, not 1.5"),
    ("another library", lambda own: own.suggest([ADA]).to_frame("spark"), "there is no library 'spark': use pandas or"),
]


def training(at: Path, wrong: Path, **options: Any) -> Any:
    return train(at / "loans.csv", at / "loans.yaml", wrong / "m", **{"estimator": "logistic_regression", **options})


def check(call: Callable[[], Any], line: str) -> None:
    with pytest.raises(onward.OnwardError) as error:
        call()
    assert line in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("about", "call", "line"), [*LOADING, *TRAINING], ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_program_that_cannot_be_made(
    about: str, call: Callable[[Path, Path], Any], line: str, folder: Path, wrong: Path
) -> None:
    check(lambda: call(folder, wrong), line)
    assert not (wrong / "m").exists()


@pytest.mark.parametrize(("about", "call", "line"), ASKING, ids=lambda one: one if isinstance(one, str) else "")
def test_a_question_that_has_no_answer(about: str, call: Callable[[Program], Any], line: str, program: Program) -> None:
    check(lambda: call(program), line)
