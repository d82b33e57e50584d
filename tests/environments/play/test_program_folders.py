"""Specs written for worlds read back as they were."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import numpy as np
import pytest

from onward.benchmarks.truth.settings import setting
from onward.environments.play.program_folders import program_name, spec_yaml, write_programs
from onward.environments.population import SPEC
from onward.environments.truth import Conditions
from onward.schemas.spec import Condition, Constraints, Policy, Rule, Window
from onward.schemas.specfile import load_spec, parse_spec
from onward.streams.programs.assembly import assemble
from onward.streams.programs.spec_check import load_program_spec

PACKAGED = sorted(SPEC.parent.glob("*.yaml"))


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.stem)
def test_a_written_spec_reads_back_as_it_was(path):
    spec = load_spec(path).spec
    assert parse_spec(spec_yaml(spec).encode()) == spec


def test_a_written_spec_with_every_field_reads_back_as_it_was():
    spec = load_spec(next(path for path in PACKAGED if path.stem == "loan")).spec
    rule = Rule(Condition("housing", equals="renting"), Condition("savings", at_most=50_000.5))
    spec = msgspec.structs.replace(
        spec,
        constraints=Constraints(3, (("monthly_debt_payments", "monthly_income"),), (rule,)),
        policy=Policy(choice="linucb", parameters={"delta": 0.1}, window=Window(time=timedelta(days=90))),
        shards=3,
        candidates=17,
    )
    assert parse_spec(spec_yaml(spec).encode()) == spec


def test_the_policy_is_written_even_where_it_is_the_default():
    assert "policy: {choice: residual" in spec_yaml(load_spec(PACKAGED[0]).spec)


def test_names_are_kept_short_enough_for_a_program():
    assert program_name("credit", "linucb") == "credit-linucb"
    assert program_name("x" * 63, "linucb") == "x" * 56 + "-linucb"


def test_what_follows_in_a_world_is_fitted_as_training_does(tmp_path):
    own = setting("population", None, "logistic", 0, 600)
    spec = msgspec.structs.replace(own.spec, effects=(("monthly_income", "savings"),))
    world = own._replace(spec=spec).world(20, Conditions())
    [file] = write_programs("loan", world, tmp_path, {"residual": {}}).values()
    [effect] = assemble(load_program_spec(file)).bundle.manifest.effects
    rows = [own.table.rows[row] for row in world.training_rows]
    income, savings = ([row[name] for row in rows] for name in ("monthly_income", "savings"))
    assert effect.slope == pytest.approx(np.polyfit(income, savings, 1)[0])
