"""The worlds of the ARLIM paper, one a test."""

from __future__ import annotations

import pytest

from onward.tests.support.reference_worlds import WORLDS, World, load_world


@pytest.fixture(params=WORLDS, ids=lambda world: f"{world[0]}-{world[1]}")
def world(request: pytest.FixtureRequest) -> World:
    return load_world(*request.param)
