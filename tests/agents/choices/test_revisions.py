"""The picks of each choice in a fixed sequence, with the revision that every answer's ``policy_version`` carries."""

from __future__ import annotations

import pytest

from onward.agents.choices import registry
from onward.tests.support.recorded_picks import picked, recorded, unrevised


@pytest.mark.parametrize("name", sorted(registry))
def test_different_picks_need_another_revision(name: str) -> None:
    now = {name: [registry[name].revision, picked(registry[name])]}
    assert not unrevised(recorded(), now)
    assert recorded().get(name) == now[name], "run: make generate"


def test_other_picks_of_the_same_revision_are_refused() -> None:
    revision = registry["linucb"].revision
    [line] = unrevised({"linucb": [revision, "then"]}, {"linucb": [revision, "now"]})
    assert (
        line == f"linucb picks otherwise in revision {revision}: where its rule has changed, let LinUCB.revision be 2"
    )
    assert not unrevised({"linucb": [revision, "then"]}, {"linucb": [revision + 1, "now"]})
    assert not unrevised({}, {"linucb": [revision, "now"]})
