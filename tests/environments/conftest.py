"""A generated world and its specs; the demo, with a broker of its own and on a Kafka that is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
from onward.streams.cli import main
from onward.tests.support.forked_process import workers_are_forked
from onward.tests.support.held_loop import HeldLoop

SPECS = population.SPEC.parent


@pytest.fixture(scope="module", autouse=True)
def quick_workers() -> Iterator[None]:
    """Workers need no seconds to import themselves."""
    with workers_are_forked():
        yield


@pytest.fixture
def held_loop(monkeypatch: pytest.MonkeyPatch) -> HeldLoop:
    return HeldLoop(monkeypatch)


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


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kafka)])
def summary_of(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Play the demo with some flags, and return its summary."""
    brokers = ["--brokers", request.getfixturevalue("cluster").bootstrap] if request.param == "real" else []

    def play(*flags: str) -> dict[str, Any]:
        code = main(["demo", *flags, "--json", *brokers])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return dict(json.loads(printed.out))

    return play
