"""A generated world, and where the data sets and stored worlds of the ARLIM paper are."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.environments import population
from onward.environments.improvement import ImprovementWorld
from onward.environments.population import Population
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[2].parent / "shared"))
SPECS = population.SPEC.parent


class Stored:
    """The stored worlds: arrays, facts and results by data set and seed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = json.loads((folder / "environments.json").read_text())
        self.results = json.loads((folder / "results.json").read_text())["per_seed_rf_0_to_4"]

    def arrays(self, name: str, seed: int) -> dict[str, Any]:
        with np.load(self.folder / f"{name.lower()}_rf_seed{seed}.npz") as stored:
            return dict(stored)

    def fact(self, name: str, seed: int) -> dict[str, Any]:
        return next(fact for fact in self.facts[name]["environments"] if fact["seed"] == seed)

    def result(self, name: str, seed: int, method: str) -> dict[str, Any]:
        return next(
            row
            for row in self.results
            if (row["dataset"], row["seed"], row["method"], row["noise"]) == (name, seed, method, 0.0)
        )


@pytest.fixture(scope="session")
def stored() -> Stored:
    folder = SHARED / "reference" / "arlim"
    if not folder.is_dir():
        pytest.skip(f"no stored worlds at {folder}: set ONWARD_SHARED")
    return Stored(folder)


@pytest.fixture(scope="session")
def data() -> Path:
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: set ONWARD_SHARED")
    return folder


@cache
def spec_of(name: str) -> ProgramSpec:
    return load_spec(SPECS / f"{name.lower()}.yaml").spec


@pytest.fixture(scope="session")
def specs() -> Any:
    return spec_of


@pytest.fixture(scope="session")
def loans() -> Table:
    return Population(seed=3).table(spec_of("loan"), size=2000)


@pytest.fixture(scope="session")
def world(loans: Table) -> ImprovementWorld:
    return ImprovementWorld.from_table(loans, spec_of("loan_arlim"), seed=3, people=20_000, approved_share=0.3)
