"""Fixtures of several folders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onward.tests.support.connections import closing_connections
from onward.tests.support.forked_process import workers_are_forked
from onward.tests.support.held_loop import HeldLoop
from onward.tests.support.takeovers import fold_uninterrupted


@pytest.fixture(scope="module", autouse=True)
def quick_workers() -> Iterator[None]:
    """Workers need no seconds to import themselves. Those of tests/test_examples.py and of the README's demo do."""
    with workers_are_forked():
        yield


@pytest.fixture
def crashes():
    """For tests in which workers crash: their ledgers are closed at the end.

    A worker that crashes does not close its ledgers, the end of its process does. A simulated crash has no such end.
    """
    with closing_connections():
        yield


@pytest.fixture(params=["memory", "file"])
def address(request, tmp_path):
    return f"{request.param}://{tmp_path}/snapshots"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return fold_uninterrupted(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def held_loop(monkeypatch):
    return HeldLoop(monkeypatch)
