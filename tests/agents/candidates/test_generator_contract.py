"""The laws of every candidate generator. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.candidates import registry
from onward.testing.generators import GENERATOR, proposed_one_by_one
from onward.testing.generators.many import INSTANCES, MANY

MOST_ROWS = {"instances": 0, "linear": 32, "adapted": INSTANCES + 64 * (MANY + 1)}
"""The most rows that some generators score for a person of so many features, where it is less than the contract allows
(docs/options.md); ``linear`` scores as many as ``search`` for a person whom a constraint across features limits."""


@pytest.mark.parametrize("law", GENERATOR)
@pytest.mark.parametrize("name", registry)
def test_every_generator_keeps_the_laws(name: str, law: str) -> None:
    GENERATOR[law].hold(name, registry[name])


@pytest.mark.parametrize("name", MOST_ROWS)
def test_some_generators_score_fewer_rows_than_they_might(name: str) -> None:
    rows = [counted.rows for seed in range(9) for counted, _, _ in proposed_one_by_one(registry[name], seed)]
    assert max(rows) <= MOST_ROWS[name]
