"""Where the data sets and stored worlds of the ARLIM paper are, and generated people."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.benchmarks.improvement import ARLIM_SPEC
from onward.environments.population import SPEC, Population
from onward.schemas.spec import ProgramSpec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[3].parent / "shared"))


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
    return load_spec(ARLIM_SPEC if name == "loan_arlim" else SPEC.with_name(f"{name.lower()}.yaml")).spec


@pytest.fixture(scope="session")
def specs() -> Any:
    return spec_of


@pytest.fixture(scope="session")
def loans() -> Table:
    return Population(seed=3).table(spec_of("loan"), size=2000)
