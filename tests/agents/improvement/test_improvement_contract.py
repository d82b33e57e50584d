"""The laws of every estimate of improvement. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.improvement import registry
from onward.testing.improvements import IMPROVEMENT


@pytest.mark.parametrize("law", IMPROVEMENT)
@pytest.mark.parametrize("name", registry)
def test_every_improvement_keeps_the_laws(name: str, law: str) -> None:
    IMPROVEMENT[law].hold(name, registry[name])
