"""What tests of snapshots share."""

from __future__ import annotations

import pytest

from onward.tests.support.takeovers import whole


@pytest.fixture(params=["memory", "file"])
def address(request, tmp_path):
    return f"{request.param}://{tmp_path}/snapshots"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return whole(tmp_path_factory.mktemp("whole"))
