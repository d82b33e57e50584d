"""Windows of event time: when they open and close, and which outcomes fall into them, to the millisecond."""

from __future__ import annotations

import msgspec
import pytest

from onward.schemas.headers import format_time
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, TIMED, Tape, tape
from onward.tests.support.ledgers import cases


@pytest.mark.parametrize(
    ("clock", "outcome", "fates"),
    [
        (35 * MINUTE_MS, 30 * MINUTE_MS, ["rewarded"]),
        (35 * MINUTE_MS + 1, 30 * MINUTE_MS, ["censored", "late"]),
        (MINUTE_MS, 30 * MINUTE_MS + 1, ["late"]),
    ],
    ids=["open until the clocks pass lateness", "closed a millisecond later", "late by its own time"],
)
def test_a_window_of_event_time_is_exact(tmp_path, clock, outcome, fates):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.tick(clock)
    story.outcome("x", outcome)
    story.fold()
    assert story.fates() == [("x", fate) for fate in fates]
    if "censored" in fates:
        headers = dict(story.run.broker.logs["rewards", 0][0].headers)
        assert headers["ce_time"].decode() == format_time(START_MS + 30 * MINUTE_MS)


def test_an_answer_counts_to_the_last_millisecond_of_the_window_too(tmp_path):
    story = tape(tmp_path, **TIMED)
    for name, ms in (("x", 30 * MINUTE_MS), ("y", 30 * MINUTE_MS + 1)):
        story.applies(name)
        story.says(name, ms, "1")
    story.fold()
    assert story.reasons() == ["recourse_closed"]


@pytest.mark.parametrize(
    ("late", "counts_from"),
    [(35 * MINUTE_MS, 0), (35 * MINUTE_MS + 1, 35 * MINUTE_MS + 1), (700 * DAY_MS, 700 * DAY_MS)],
    ids=["as late as may be", "a millisecond later", "years later"],
)
def test_a_window_that_would_be_over_counts_from_the_arrival(tmp_path, late, counts_from):
    story, length = tape(tmp_path, **TIMED), 30 * MINUTE_MS
    story.run.clock_ms = lambda: START_MS + 1000 * DAY_MS
    story.tick(late)
    for name in ("reported", "silent", "denied"):
        story.applies(name)
    story.tick(late)
    story.outcome("reported", MINUTE_MS)
    story.outcome("denied", counts_from + length, "not_improved")
    story.tick(counts_from + length + 5 * MINUTE_MS)
    story.fold("open")
    assert {answer.closes_at for answer in story.answers()} == {format_time(START_MS + counts_from + length)}
    assert [(one.application, one.reward) for one in story.rewards()] == [("reported", 1.0), ("denied", 0.0)]
    story.tick(counts_from + length + 5 * MINUTE_MS + 1)
    story.fold()
    assert story.fates() == [("reported", "rewarded"), ("denied", "rewarded"), ("silent", "censored")]


@pytest.mark.parametrize(("clock", "fate"), [(20 * MINUTE_MS, "rewarded"), (20 * MINUTE_MS + 1, "dangling")])
def test_an_outcome_waits_twice_the_lateness_and_no_longer(tmp_path, clock, fate):
    story = tape(tmp_path, **TIMED)
    story.outcome("x", 10 * MINUTE_MS)
    story.tick(clock)
    story.applies("x", 15 * MINUTE_MS)
    story.fold()
    assert story.fates() == [("x", fate)]


@pytest.mark.parametrize(("ms", "fate"), [(-5 * MINUTE_MS, "rewarded"), (-5 * MINUTE_MS - 1, "dangling")])
@pytest.mark.parametrize("first", ["application", "outcome"])
def test_an_outcome_before_its_recourse_by_more_than_lateness_dangles(tmp_path, first, ms, fate):
    story = tape(tmp_path, **TIMED)
    calls = [lambda: story.applies("x"), lambda: story.outcome("x", ms)]
    for call in calls if first == "application" else reversed(calls):
        call()
    story.fold()
    assert story.fates() == [("x", fate)]


def test_an_outcome_before_its_recourse_dangles_also_when_another_one_counted(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("x", 7 * MINUTE_MS, id="counts")
    story.outcome("x", -6 * MINUTE_MS, id="before")
    story.fold()
    assert story.fates() == [("x", "rewarded"), ("x", "dangling")]
    assert story.reasons() == []


@pytest.mark.parametrize(("decided", "counts_from"), [(-5, 0), (7, 7)])
def test_a_window_opens_with_the_later_of_application_and_decision(tmp_path, decided, counts_from):
    story = tape(tmp_path, decisions="external", **TIMED)
    story.applies("x")
    story.decides("x", decided * MINUTE_MS)
    ledger = story.fold()
    [answer] = story.answers()
    assert answer.closes_at == format_time(START_MS + (counts_from + 30) * MINUTE_MS)
    [case] = cases(ledger)
    assert msgspec.json.decode(case.features) == POOR


@pytest.mark.parametrize("end", ["approved", "rewarded", "censored", "unseen", "none"])
def test_the_features_of_a_person_are_kept_until_the_case_is_closed(tmp_path, end):
    story = tape(tmp_path, decisions="external", candidates=1, **TIMED)
    story.applies("x", features={**POOR, "region": "north" if end == "none" else "south"})
    story.decides("x", 0, end == "approved")
    if end in ("rewarded", "unseen"):
        story.outcome("x", 1, "improved" if end == "rewarded" else "unseen")
    story.tick(36 * MINUTE_MS)
    [case] = cases(story.fold())
    assert case.features is None
    assert case.status.name in (end.upper(), "NO_RECOURSE")


def test_a_decision_long_before_its_application_is_a_dead_letter_in_every_order(tmp_path):
    for first in ("application", "decision"):
        story = tape(tmp_path / first, decisions="external", **TIMED)
        if first == "application":
            story.applies("x")
        story.decides("x", -5 * MINUTE_MS - 1)
        if first == "decision":
            story.applies("x")
        story.tick(DAY_MS)
        story.fold()
        assert story.reasons() == ["decision_without_application"]
        assert story.answers() == []


def test_the_waiting_list_has_room_again_for_every_event_that_left(tmp_path):
    run = PipelineRun({"loan": build_program(**TIMED)}, tmp_path, waiting_limit=1)
    story = Tape(run)
    story.outcome("x", MINUTE_MS)
    story.applies("x")
    story.outcome("nobody", MINUTE_MS)
    story.tick(DAY_MS)
    story.outcome("y", DAY_MS)
    story.applies("y", DAY_MS)
    story.fold()
    assert story.reasons() == []
    assert story.fates() == [("x", "rewarded"), ("nobody", "dangling"), ("y", "rewarded")]
