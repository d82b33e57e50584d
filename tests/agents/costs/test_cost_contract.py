"""The laws of every cost. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.costs import registry
from onward.testing.costs import COST


@pytest.mark.parametrize("law", COST)
@pytest.mark.parametrize("name", registry)
def test_every_cost_keeps_the_laws(name: str, law: str) -> None:
    COST[law].hold(name, registry[name])
