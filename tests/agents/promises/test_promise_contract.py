"""The laws of every promise. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.promises import registry
from onward.testing.promises import PROMISE


@pytest.mark.parametrize("law", PROMISE)
@pytest.mark.parametrize("name", registry)
def test_every_promise_keeps_the_laws(name: str, law: str) -> None:
    PROMISE[law].hold(name, registry[name])
