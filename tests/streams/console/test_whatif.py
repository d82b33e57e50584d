"""What-ifs: no answer goes beyond what the person can do."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

import onward
from onward.schemas.events import Recourse
from onward.streams.console.whatif import LimitError, Limits, limited, read_limit, ways_within
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.loans import reviewed_spec, write_loans

FEATURES = ("income", "debts")


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loans")
    (folder / "loans.yaml").write_text(reviewed_spec())
    write_loans(folder / "loans.csv")
    onward.train(folder / "loans.csv", folder / "loans.yaml", folder / "model", estimator="logistic_regression")
    return folder / "loans.yaml"


def test_no_answer_breaks_a_limit(loans: Path) -> None:
    loaded, dice, told = load_program_spec(loans), random.Random(1), 0
    for _ in range(100):
        person = {
            "income": dice.randint(5, 60),
            "debts": dice.randint(0, 19),
            "region": dice.choice(["north", "south"]),
        }
        fixed = {name for name in FEATURES if dice.random() < 0.2}
        most = {name: float(dice.randint(0, 90)) for name in FEATURES if dice.random() < 0.5}
        answer = ways_within(loaded, person, Limits(fixed, most))
        for option in answer.options if isinstance(answer, Recourse) else ():
            told += 1
            for change in option.changes:
                assert change.feature not in fixed
                is_up, most_of = change.target > change.current, most.get(change.feature)
                if most_of is not None and (most_of > change.current) == is_up:
                    assert abs(change.target - change.current) <= abs(most_of - change.current)
                assert most_of is None or not is_up or most_of > change.current
    assert told > 20


def test_ways_are_those_of_the_model_that_decides_today(loans: Path) -> None:
    onward.train(loans.with_name("loans.csv"), loans, loans.with_name("later"), seed=1)
    manifest, loaded = loans.with_name("later") / "manifest.json", load_program_spec(loans)
    person = {"income": 20, "debts": 10, "region": "north"}
    versions = []
    for address in (None, str(manifest)):
        answer = ways_within(loaded, person, Limits(), address)
        assert isinstance(answer, Recourse)
        versions.append(answer.model)
    assert versions == [
        msgspec.json.decode(path.read_bytes())["version"]
        for path in (loans.with_name("model") / "manifest.json", manifest)
    ]
    assert versions[0] != versions[1]


def test_a_limit_lets_nothing_change_that_the_program_does_not(loans: Path) -> None:
    spec = load_program_spec(loans).spec
    rules = {feature.name: feature for feature in spec.features}
    for most in (10.0, 40.0, 500.0):
        own = {
            one.name: one for one in limited(spec, {"income": 40, "debts": 5}, Limits((), {"income": most})).features
        }
        assert own["debts"] == rules["debts"]
        assert rules["income"].mutable == "up"
        assert own["income"].mutable == ("up" if most > 40 else "none")


@pytest.mark.parametrize("text", ["9.000", "1,200", "a lot", "1e999", "--"])
def test_a_limit_that_may_be_read_in_two_ways_is_asked_again(text: str) -> None:
    with pytest.raises(LimitError):
        read_limit(text)
