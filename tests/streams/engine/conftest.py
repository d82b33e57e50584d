"""What workers do in threads is done at once here: the engine waits for nothing, and changing threads takes a fifth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

import pytest

P = ParamSpec("P")
R = TypeVar("R")


@pytest.fixture(scope="module", autouse=True)
def without_threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "to_thread", _at_once)
        yield


async def _at_once(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)
