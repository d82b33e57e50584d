"""What-ifs: no answer goes beyond what the person can do."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import onward
from onward.environments.options import skilled_people
from onward.environments.people import PACKAGED_SPECS
from onward.environments.population import Population
from onward.schemas.events import Recourse, Value
from onward.schemas.specfile import LoadedSpec
from onward.streams.console.whatif import LimitError, Limits, limited, read_limit, ways_within
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.loans import reviewed_spec, write_loans
from onward.tests.support.packaged_specs import text_alone


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loans")
    (folder / "loans.yaml").write_text(reviewed_spec())
    write_loans(folder / "loans.csv")
    onward.train(folder / "loans.csv", folder / "loans.yaml", folder / "model", estimator="logistic_regression")
    return folder / "loans.yaml"


def check(loaded: LoadedSpec, people: Sequence[Mapping[str, Value]], dice: random.Random) -> int:
    """Ask what if with random limits for each person; return how many ways were told."""
    told = 0
    movable = {feature.name: feature for feature in loaded.spec.features if feature.may_change}
    for person in people:
        fixed = {name for name in movable if dice.random() < 0.2}
        numbers = [name for name, feature in movable.items() if feature.bounds is not None]
        most = {name: _around(dice, float(person[name])) for name in numbers if dice.random() < 0.5}
        answer = ways_within(loaded, person, Limits(fixed, most))
        for option in answer.options if isinstance(answer, Recourse) else ():
            told += 1
            for change in (*option.changes, *(option.follows or ())):
                assert change.feature in movable
                assert change.feature not in fixed
                if (limit := most.get(change.feature)) is not None:
                    value = float(person[change.feature])
                    assert change.target <= max(limit, value)
                    assert change.target >= min(limit, value) or (
                        movable[change.feature].mutable == "down" and limit > value
                    )
            changed = {change.feature: change.target for change in (*option.changes, *(option.follows or ()))}
            assert ways_within(loaded, {**person, **changed}, Limits()) is None, "the model accepts who goes this way"
    return told


def _around(dice: random.Random, value: float) -> float:
    return float(round(value + dice.uniform(-0.7, 1.0) * (abs(value) + 5)))


def test_no_answer_breaks_a_limit(loans: Path) -> None:
    dice = random.Random(1)
    people = [
        {"income": dice.randint(5, 60), "debts": dice.randint(0, 19), "region": dice.choice(["north", "south"])}
        for _ in range(50)
    ]
    assert check(load_program_spec(loans), people, dice) > 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::onward.streams.errors.OnwardWarning")
@pytest.mark.parametrize(
    ("name", "estimator", "many"),
    [("loan", "logistic_regression", 400), ("loan", "random_forest", 300), ("course", "logistic_regression", 300)],
)
def test_a_thousand_break_none(tmp_path: Path, name: str, estimator: Any, many: int) -> None:
    (tmp_path / "spec.yaml").write_text(text_alone(PACKAGED_SPECS / f"{name}.yaml"))
    spec = load_program_spec(tmp_path / "spec.yaml").spec
    table = Population(seed=1).table(spec, 4000 + many) if name == "loan" else skilled_people(spec, 1)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        rows = csv.DictWriter(file, [*table.rows[0], spec.label.name])
        rows.writeheader()
        for row, label in list(zip(table.rows, table.labels.tolist(), strict=True))[many:]:
            rows.writerow({**row, spec.label.name: label})
    onward.train(tmp_path / "people.csv", tmp_path / "spec.yaml", tmp_path / "model", estimator=estimator)
    people = [{name: value for name, value in row.items() if value is not None} for row in table.rows[:many]]
    told = check(load_program_spec(tmp_path / "spec.yaml"), people, random.Random(2))
    print(f"{name}, {estimator}: {many} what-ifs, {told} ways")
    assert told > many / 10


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


@pytest.mark.parametrize("text", ["9.000", "1,200", "a lot", "1e999", "--", "9k", "1.5 million", "1 200,50"])
def test_a_limit_that_may_be_read_in_two_ways_is_asked_again(text: str) -> None:
    with pytest.raises(LimitError):
        read_limit(text)
