"""The worlds of the commands: which one a spec asks for, and the programs that are written for it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from onward.environments.improvement import ImprovementWorld
from onward.environments.people import PeopleWorld
from onward.environments.population import SPEC, Population
from onward.environments.truth import TruthWorld
from onward.schemas.specfile import load_spec
from onward.streams.cli.demo import DemoSettings
from onward.streams.errors import UsageError
from onward.streams.programs.training import margin
from onward.tests.support.packaged_specs import text_alone


@pytest.fixture(scope="module")
def loans(tmp_path_factory) -> Path:
    table = Population(seed=1).table(load_spec(SPEC).spec, 400)
    path = tmp_path_factory.mktemp("data") / "loans.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*table.rows[0], "repaid"])
        writer.writeheader()
        rows = zip(table.rows, table.labels.tolist(), strict=True)
        writer.writerows({**row, "repaid": label} for row, label in rows)
    return path


def people(policies: tuple[str, ...] = ("protoar",), **settings) -> PeopleWorld:
    given = {"seed": 1, "people": 20, "approved_share": 0.0, "policies": policies, **settings}
    return PeopleWorld(DemoSettings.model_validate(given), lambda _: None)


def built(loans: Path, policy: str, *policies: str) -> PeopleWorld:
    spec = loans.with_name("loans.yaml")
    published = "instances: {publish: true}\n" if "instances" in policy else ""
    spec.write_text(f"{text_alone(SPEC)}policy: {policy}\n{published}")
    return people(policies or ("protoar",), data=loans, spec=spec)


def test_a_spec_s_own_policy_serves_its_world_beside_the_others(loans, tmp_path):
    policy = "{choice: linucb, parameters: {delta: 0.2}, generator: search, options: 3, margin: 0.1, nu: 0.5}"
    named = built(loans, policy, "protoar", "linucb")
    assert isinstance(named.world, TruthWorld)
    assert list(named.choices.items()) == [("linucb", {"regularisation": 20.0, "delta": 0.2}), ("protoar", {})]
    specs = named.write(tmp_path)
    assert named.example_program(specs) == "personal-loan-linucb"
    own, other = (load_spec(path).spec.policy for path in specs.values())
    assert (own.choice, own.parameters, own.generator, own.margin, own.nu) == (
        "linucb",
        {"regularisation": 20.0, "delta": 0.2},
        "search",
        0.1,
        0.5,
    )
    assert own.options == 3
    assert (other.choice, other.parameters, other.generator, other.options) == ("protoar", {}, "search", 3)


def test_a_margin_that_the_spec_leaves_to_training_is_measured(loans, tmp_path, monkeypatch):
    monkeypatch.setattr(margin, "PEOPLE", 3)
    monkeypatch.setattr(margin, "RETRAINED", 3)
    named = built(loans, "{generator: search, margin: auto}")
    assert list(named.write(tmp_path)) == ["personal-loan-residual", "personal-loan-protoar"]
    manifest = json.loads((tmp_path / "personal-loan-protoar" / "model" / "manifest.json").read_text())
    assert 0 <= manifest["margin"] < 0.5


def test_copies_of_rows_are_played_by_the_paper_s_protocol_unless_a_recourse_has_several(loans):
    assert isinstance(built(loans, "{generator: instances, options: 1, margin: 0}").world, ImprovementWorld)
    assert isinstance(built(loans, "{generator: instances, options: 2, choice: protoar}").world, TruthWorld)


def test_generated_people_get_options_that_are_made_for_them():
    named = people()
    assert list(named.choices) == ["protoar"]
    assert named.world.spec("loan", "protoar").policy.generator == "search"


def test_data_in_which_everybody_has_the_desired_outcome_are_refused_in_one_line(loans, tmp_path):
    everybody = tmp_path / "loans.csv"
    header, *rows = loans.read_text().splitlines()
    everybody.write_text("\n".join([header, *(row for row in rows if row.endswith(",1"))]))
    with pytest.raises(UsageError, match="another --seed") as refused:
        built(everybody, "{generator: search}")
    assert str(refused.value).startswith(f"{everybody}: ")
    assert "\n" not in str(refused.value)


def test_a_spec_without_its_data_is_refused():
    with pytest.raises(UsageError, match="give it with --data"):
        people(spec=SPEC)
