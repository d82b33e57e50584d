"""The laws of every promise. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pytest

from onward.agents.promises import in_words, registry
from onward.testing.promises import LINE, PROMISE, TARGETS, equipped


@pytest.mark.parametrize("law", PROMISE)
@pytest.mark.parametrize("name", registry)
def test_every_promise_keeps_the_laws(name: str, law: str) -> None:
    PROMISE[law].hold(name, registry[name])


@pytest.mark.parametrize("name", registry)
def test_the_words_of_every_promise_are_found_among_those_of_all(name: str) -> None:
    promise = equipped(registry[name])
    numbers = promise.guarantee(TARGETS[0], LINE, 0.5) or {}
    assert in_words(numbers) == promise.in_words(numbers)
