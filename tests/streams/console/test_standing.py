"""Where a case stands, whatever the order in which its events are read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from msgspec.structs import replace

from onward.schemas.events import Answer, Application, PromiseChange, Recourse, Reward
from onward.schemas.headers import format_time
from onward.streams.console.standing import Standing
from onward.tests.streams.console.states import TWO

APPLIED = (1, Application("loan", "x", {}))
TOLD = (2, TWO)
TAKEN = (3, PromiseChange("loan", 0, "x", "broken", options=("1",)))
CAME_BACK = (3, PromiseChange("loan", 0, "x", "broken", options=("1",), by="y"))
PICKED = (4, Answer("loan", "x", "1"))
CLOSES = (2, replace(TWO, closes_at=format_time(4)))
NONE, TOO_LATE = (4, Answer("loan", "x", None)), (5, Answer("loan", "x", None))
CLOSED = (5, Reward("loan", 0, "x", "censored"))


@pytest.mark.parametrize(
    ("events", "queue"),
    [
        ((APPLIED, TOLD), "outcome"),
        ((APPLIED, TOLD, TAKEN), "changed"),
        ((APPLIED, TOLD, TAKEN, PICKED), "outcome"),
        ((APPLIED, TOLD, CAME_BACK), "outcome"),
        ((APPLIED, CLOSES, NONE), "declined"),
        ((APPLIED, CLOSES, TOO_LATE), "outcome"),
    ],
)
def test_a_way_that_a_new_model_took_waits_for_somebody_to_tell_it(
    events: Sequence[tuple[int, Application | Recourse | PromiseChange | Answer]], queue: str
) -> None:
    for order in permutations(events):
        standing = Standing()
        for time_ms, event in order:
            standing.take(time_ms, event)
        assert standing.queue == queue


@pytest.mark.parametrize(("events", "counts"), [((CLOSES, NONE), True), ((CLOSES, TOO_LATE), False)])
def test_an_answer_after_the_window_is_counted_nowhere(
    events: Sequence[tuple[int, Recourse | Answer]], counts: bool
) -> None:
    for more in ((), (CLOSED,)):
        for order in permutations((APPLIED, *events, *more)):
            standing = Standing()
            for time_ms, event in order:
                standing.take(time_ms, event)
            assert (standing.answered_ms >= 0) == counts


def test_an_answer_that_came_too_late_takes_none_back_that_came_in_time() -> None:
    standing = Standing()
    for time_ms, event in (APPLIED, CLOSES, NONE, TOO_LATE):
        standing.take(time_ms, event)
    assert standing.queue == "declined"
