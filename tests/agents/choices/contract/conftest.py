"""The registry finds the classes: a new choice is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.choices import Choice, registry
from onward.tests.support.choice_learners import SMALL, Make, fresh


@pytest.fixture(params=sorted(registry), scope="module")
def kind(request: pytest.FixtureRequest) -> type[Choice]:
    return registry[request.param]


@pytest.fixture(scope="module")
def make(kind: type[Choice]) -> Make:
    """The choice with small parameters."""
    given = {name: value for name, value in SMALL.items() if name in kind.parameters()}
    return lambda points: fresh(kind, points, **given)
