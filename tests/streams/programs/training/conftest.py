"""Small models for whatever is trained here: how many trees they have matters to none of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onward.tests.support.small_models import short_networks, small_boosters, small_forests, small_priors


@pytest.fixture(scope="module", autouse=True)
def small_models() -> Iterator[None]:
    with small_forests(), small_boosters(), small_priors():
        yield


@pytest.fixture
def networks_are_short() -> Iterator[None]:
    """For tests that train several networks, and do not ask how good they are."""
    with short_networks():
        yield
