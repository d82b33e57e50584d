"""Which events are repeats, and for how long cases and events are remembered."""

from __future__ import annotations

import pytest

from onward.testing.ledger import dump, rows
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, RICH, TIMED, tape
from onward.tests.support.ledgers import RETENTION_MS, cases


def test_the_same_ce_id_from_different_senders_is_no_repeat(tmp_path):
    story = tape(tmp_path, decisions="external", **TIMED)
    story.outcome("x", 2 * MINUTE_MS, id="1")
    story.decides("x", MINUTE_MS, id="1")
    story.applies("x", id="1")
    story.applies("y", id="2")
    story.decides("y", MINUTE_MS, id="2")
    story.decides("nobody", MINUTE_MS, id="3")
    story.outcome("nobody", MINUTE_MS, id="3")
    story.decides("lost", MINUTE_MS, id="4")
    story.tick(12 * MINUTE_MS)
    story.outcome("y", 12 * MINUTE_MS, id="3")
    story.outcome("lost", 12 * MINUTE_MS, id="4")
    story.tick(DAY_MS)
    story.fold()
    assert sorted(story.fates()) == [("lost", "dangling"), ("nobody", "dangling"), ("x", "rewarded"), ("y", "rewarded")]
    assert story.reasons() == ["decision_without_application"] * 2


def test_two_applications_of_one_name_in_a_chunk_are_not_mixed_up(tmp_path):
    results = []
    for name in ("whole", "cut"):
        story = tape(tmp_path / name)
        story.applies("x", id="first")
        story.applies("x", id="second", features=RICH)
        ledger = story.fold(parts=[[record] for record in story.journal] if name == "cut" else None)
        results.append((story.run.outputs(), dump(ledger)))
        assert story.reasons() == ["application_already_known"]
        assert len(story.answers()) == 1
    assert results[0] == results[1]


def test_an_event_that_was_given_up_is_given_up_once(tmp_path):
    story = tape(tmp_path, decisions="external", **TIMED)
    for ms in (DAY_MS, DAY_MS + 1, DAY_MS + 2):
        story.decides("nobody", 0)
        story.outcome("nobody", 0)
        story.tick(ms)
    story.fold(parts=[[record] for record in story.journal])
    assert story.reasons() == ["decision_without_application"]
    assert story.fates() == [("nobody", "dangling")]


def test_an_old_application_is_remembered_from_when_it_was_answered(tmp_path):
    story = tape(tmp_path, candidates=1)
    story.tick(DAY_MS)
    for _ in range(2):
        story.applies("old", -RETENTION_MS - DAY_MS)
        story.tick(2 * DAY_MS)
    story.fold()
    assert len(story.answers()) == 1


def fold_in_every_cut(tmp_path, ms, application_id, decision_id):
    """Use a name and an outcome again after ``ms``. Fold the journal whole, record by record, and with a rest after the
    first case; return the journals."""
    stories, results = [], []
    for name in ("whole", "cut", "at rest"):
        story = tape(tmp_path / name, decisions="external", candidates=1)
        story.applies("x")
        story.decides("x", 0, id="first")
        half = len(story.journal)
        story.outcome("nobody", 0)
        story.tick(DAY_MS)
        story.tick(ms)
        story.applies("x", id=application_id, features={**POOR, "region": "south"})
        story.decides("x", 0, id=decision_id)
        story.outcome("nobody", 0)
        story.tick(DAY_MS + RETENTION_MS + 1)
        story.outcome("nobody", 0)
        story.tick(DAY_MS + RETENTION_MS + 2)
        journal = story.journal
        parts = {
            "whole": [journal],
            "cut": [[record] for record in journal],
            "at rest": [journal[:half], journal[half:]],
        }
        ledger = story.fold(parts=parts[name])
        stories.append(story)
        results.append((story.run.outputs(), dump(ledger)))
    assert results[0] == results[1] == results[2]
    return stories


def test_retention_includes_its_last_millisecond(tmp_path):
    for story in fold_in_every_cut(tmp_path, RETENTION_MS, application_id="a-x", decision_id="first"):
        assert len(story.answers()) == 1
        assert story.reasons() == []
        assert story.fates().count(("nobody", "dangling")) == 2


def test_after_retention_a_name_can_be_used_again(tmp_path):
    for story in fold_in_every_cut(tmp_path, RETENTION_MS + 1, application_id="again", decision_id="second"):
        assert len(story.answers()) == 2
        assert story.reasons() == []
        assert story.fates().count(("nobody", "dangling")) == 2


@pytest.mark.parametrize("approved", [False, True])
def test_a_name_that_is_used_again_is_decided_by_its_new_features(tmp_path, approved):
    story = tape(tmp_path, decisions="external", **TIMED)
    story.applies("p0")
    first = len(story.journal)
    story.tick(400 * DAY_MS)
    story.applies("p0", DAY_MS, {**POOR, "income": 45.0, "debts": 2}, id="again")
    story.decides("p0", DAY_MS, approved)
    story.applies("p1", DAY_MS)
    story.decides("p1", DAY_MS)
    ledger = story.fold(parts=[story.journal[:first], story.journal[first:]])
    answers = {answer.application: answer.options[0].changes[0].current for answer in story.answers()}
    assert answers == ({"p1": 10.0} if approved else {"p0": 45.0, "p1": 10.0})
    scores = {case.key.application: case.score for case in cases(ledger)}
    assert scores["p0"] != scores["p1"]


@pytest.mark.parametrize(("past", "left"), [(0, 1), (1, 0)])
def test_the_ledger_does_not_grow_with_what_is_past_retention(tmp_path, past, left):
    story = tape(tmp_path)
    story.outcome("nobody", 0)
    story.applies("rich", features=RICH)
    story.tick(DAY_MS)
    story.tick(DAY_MS + RETENTION_MS + past)
    ledger = story.fold()
    assert rows(ledger, "SELECT count(*) FROM processed_events") == [(left,)]
    assert rows(ledger, "SELECT count(*) FROM cases") == [(0,)]
    assert rows(ledger, "SELECT count(*) FROM timers WHERE kind LIKE 'forget%'") == [(left,)]
