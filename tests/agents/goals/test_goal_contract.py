"""The laws of every goal. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.goals import registry
from onward.testing.goals import GOAL


@pytest.mark.parametrize("law", GOAL)
@pytest.mark.parametrize("name", registry)
def test_every_goal_keeps_the_laws(name: str, law: str) -> None:
    GOAL[law].hold(name, registry[name])
