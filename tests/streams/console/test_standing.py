"""Where a case stands, whatever the order in which its events are read."""

from __future__ import annotations

from itertools import permutations

import pytest

from onward.schemas.events import Answer, Application, PromiseChange, Recourse
from onward.streams.console.standing import Standing
from onward.tests.streams.console.states import TWO

APPLIED = (1, Application("loan", "x", {}))
TOLD = (2, TWO)
TAKEN = (3, PromiseChange("loan", 0, "x", "broken", options=("1",)))
CAME_BACK = (3, PromiseChange("loan", 0, "x", "broken", options=("1",), by="y"))
PICKED = (4, Answer("loan", "x", "1"))


@pytest.mark.parametrize(
    ("events", "queue"),
    [
        ((APPLIED, TOLD), "outcome"),
        ((APPLIED, TOLD, TAKEN), "changed"),
        ((APPLIED, TOLD, TAKEN, PICKED), "outcome"),
        ((APPLIED, TOLD, CAME_BACK), "outcome"),
    ],
)
def test_a_way_that_a_new_model_took_waits_for_somebody_to_tell_it(
    events: tuple[tuple[int, Application | Recourse | PromiseChange | Answer], ...], queue: str
) -> None:
    for order in permutations(events):
        standing = Standing()
        for time_ms, event in order:
            standing.take(time_ms, event)
        assert standing.queue == queue
