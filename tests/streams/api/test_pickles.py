"""Programs go to other processes as pickles; what cannot says so."""

from __future__ import annotations

import pickle
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

import onward

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = [{"income": 55, "debts": 6, "region": "north"}, {"income": 20, "debts": 8, "region": "south"}]


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy of the program's files."""
    shutil.copytree(folder, tmp_path / "own")
    return tmp_path / "own"


def test_a_pickled_program_and_its_suggestions_are_the_same(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own)
    program = onward.load_program("loans.yaml", options=1)
    suggestions = program.suggest(PEOPLE, at=NOW)
    monkeypatch.chdir(own.parent)
    again = pickle.loads(pickle.dumps(program))
    assert (again.name, again.model, again.threshold) == (program.name, program.model, program.threshold)
    assert again.suggest(PEOPLE, at=NOW).to_dicts() == suggestions.to_dicts()
    assert pickle.loads(pickle.dumps(suggestions)).summary() == suggestions.summary()


def test_the_model_of_a_pickled_program_must_be_there_and_the_same(own: Path) -> None:
    pickled = pickle.dumps(onward.load_program(own / "loans.yaml"))
    shutil.rmtree(own / "model")
    with pytest.raises(onward.OnwardError, match="train the model first"):
        pickle.loads(pickled)
    onward.train(own / "loans.csv", own / "loans.yaml", own / "model", estimator="logistic_regression", seed=1)
    with pytest.raises(onward.OnwardError, match="it is another model than that of the program that was pickled"):
        pickle.loads(pickled)


def test_what_was_asked_of_a_person_is_kept_as_answers(own: Path) -> None:
    spec = (own / "loans.yaml").read_text()
    asking = "generator: plans, cost: mixed"
    (own / "asking.yaml").write_text(spec.replace("generator: search", asking) + "elicitation: {questions: 1}\n")
    elicitation = onward.load_program(own / "asking.yaml").elicit(PEOPLE[1])
    with pytest.raises(onward.OnwardError, match="keep its `answers`"):
        pickle.dumps(elicitation)


def test_the_number_of_options_is_that_of_the_call(own: Path) -> None:
    program = onward.load_program(own / "loans.yaml", options=3)
    for most in (1, 2):
        told = program.suggest(PEOPLE, options=most)
        expected = onward.load_program(own / "loans.yaml", options=most).suggest(PEOPLE)
        assert [answer.options for answer in told] == [answer.options for answer in expected]
        assert max(len(answer.options) for answer in told) == most
    assert max(len(answer.options) for answer in program.suggest(PEOPLE)) > 1
