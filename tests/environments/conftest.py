"""A generated world and its specs."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from onward.benchmarks.improvement import ARLIM_SPEC
from onward.environments import population
from onward.environments.improvement import ImprovementWorld
from onward.environments.population import Population
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table

SPECS = population.SPEC.parent


@cache
def spec_of(name: str) -> ProgramSpec:
    return load_spec(ARLIM_SPEC if name == "loan_arlim" else SPECS / f"{name.lower()}.yaml").spec


@pytest.fixture(scope="session")
def specs() -> Any:
    return spec_of


@pytest.fixture(scope="session")
def loans() -> Table:
    return Population(seed=3).table(spec_of("loan"), size=2000)


@pytest.fixture(scope="session")
def world(loans: Table) -> ImprovementWorld:
    return ImprovementWorld.from_table(loans, spec_of("loan_arlim"), seed=3, people=20_000, approved_share=0.3)
