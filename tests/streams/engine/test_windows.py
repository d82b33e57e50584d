"""Windows, clocks and retention to the millisecond; what learners and models are told, and when."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from onward.schemas.events import Model, NoRecourse, Recourse
from onward.schemas.headers import format_time
from onward.streams.engine.watermark import Watermarks
from onward.streams.ledger.checksum import without_checksum
from onward.streams.programs.program import Program
from onward.streams.records import TopicPartition
from onward.tests.support.pipeline import START_MS, Run, build_program, dump
from onward.tests.support.tape import DAY_MS, MINUTE_MS, POOR, RETENTION_MS, RICH, TIMED, Tape, cases, rows, tape

# --- windows and clocks, to the millisecond ---


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


def test_dead_letters_do_not_move_time(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("nobody", 10 * 60 * MINUTE_MS)
    story.applies("bad", 10 * 60 * MINUTE_MS, features={})
    story.fold()
    assert story.fates() == []
    assert story.reasons() == ["missing_feature"]


def test_a_silent_decisions_topic_holds_up_time_only_where_decisions_come_from_it(tmp_path):
    for decisions, fates in (("model", [("nobody", "dangling"), ("x", "dangling")]), ("external", [])):
        story = tape(tmp_path / decisions, decisions=decisions, **TIMED)
        story.outcome("nobody", 0)
        story.outcome("x", DAY_MS)
        story.applies("x", DAY_MS, features=RICH)
        story.fold()
        assert story.fates() == fates


class Clocks:
    """A watermark over topics a (two partitions) and b, all announced."""

    def __init__(self):
        self.watermarks = Watermarks({"model": frozenset("ab")})
        for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
            self(topic, partition, None)

    def __call__(self, topic, partition, time_ms):
        self.watermarks.advance(TopicPartition(topic, partition), time_ms)
        return self.watermarks.values_ms["model"]


def test_the_watermark_waits_for_every_partition_and_never_goes_back():
    clock = Clocks()
    assert clock("a", 0, 10) is None
    assert clock("a", 1, 10) is None
    assert clock("b", 0, 20) == 10
    assert clock("a", 0, 30) == 10
    assert clock("a", 0, 12) == 10
    assert clock("a", 1, 30) == 20
    assert clock("b", 0, 15) == 20
    assert clock("b", 0, 25) == 25
    assert clock("a", 2, None) == 25
    assert clock("b", 0, 40) == 25
    assert clock("a", 2, 5) == 25
    assert clock("a", 2, 60) == 30
    assert list(Watermarks({"model": frozenset("ab")}, {TopicPartition("a", 0): 1}).known()) == []


# --- repeats, and what is forgotten ---


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


def test_an_outcome_before_its_recourse_dangles_also_when_another_one_counted(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("x", 7 * MINUTE_MS, id="counts")
    story.outcome("x", -6 * MINUTE_MS, id="before")
    story.fold()
    assert story.fates() == [("x", "rewarded"), ("x", "dangling")]
    assert story.reasons() == []


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


@pytest.mark.parametrize(("past", "answers"), [(0, 1), (1, 2)])
def test_retention_ends_to_the_millisecond_wherever_the_journal_is_cut(tmp_path, past, answers):
    told = []
    for name in ("whole", "cut", "at rest"):
        story = tape(tmp_path / name, decisions="external", candidates=1)
        story.applies("x")
        story.decides("x", 0, id="first")
        half = len(story.journal)
        story.outcome("nobody", 0)
        story.tick(DAY_MS)
        story.tick(RETENTION_MS + past)
        story.applies("x", id="again" if past else "a-x", features={**POOR, "region": "south"})
        story.decides("x", 0, id="second" if past else "first")
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
        told.append((story.run.outputs(), dump(ledger)))
        assert len(story.answers()) == answers
        assert story.reasons() == []
        assert story.fates().count(("nobody", "dangling")) == 2
    assert told[0] == told[1] == told[2]


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


def test_the_waiting_list_has_room_again_for_every_event_that_left(tmp_path):
    run = Run({"loan": build_program(**TIMED)}, tmp_path, waiting_limit=1)
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


# --- learners ---


def learner(ledger):
    [(step, packed)] = rows(ledger, "SELECT step, learner FROM shards")
    state = msgspec.msgpack.decode(without_checksum(packed), type=dict[str, tuple[str, tuple[int, ...], bytes]])
    return step, {name: np.frombuffer(content, dtype).reshape(shape) for name, (dtype, shape, content) in state.items()}


@pytest.mark.parametrize(("result", "reward"), [("improved", 1.0), ("not_improved", 0.0), ("unseen", None)])
def test_an_outcome_teaches_the_learner_its_reward(tmp_path, result, reward):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("x", MINUTE_MS, result=result)
    step, state = learner(story.fold())
    [answer] = story.answers()
    [option] = answer.options
    e, k = option.execution_probability, int(option.candidate)
    fresh = build_program().learner().state()
    v, b = fresh["v"].copy(), fresh["b"].copy()
    if reward is not None:
        v[k] += e * e
        b[k] += e * reward
    assert step == 1
    np.testing.assert_allclose(state["v"], v, rtol=1e-12)
    np.testing.assert_array_equal(state["b"], b)


def test_an_answer_without_recourse_takes_a_step(tmp_path):
    story = tape(tmp_path, candidates=1)
    story.applies("stuck")
    story.applies("south", features={**POOR, "region": "south"})
    step, _ = learner(story.fold())
    assert [(type(answer), answer.step) for answer in story.answers()] == [(NoRecourse, 0), (Recourse, 1)]
    assert step == 2


# --- models ---


class Demanding:
    """Accepts only the richest."""

    def score(self, X):
        return np.where(X[:, 2] > 0.9, 1.0, 0.0)


def test_a_model_holds_from_its_event_on_wherever_the_journal_is_cut(tmp_path, monkeypatch):
    bundle = replace(build_program().bundle, version="v2", manifest_sha256="3" * 64, model=Demanding())
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: bundle)
    well_off = {"region": "north", "income": 85.0, "debts": 0}
    told = []
    for name in ("whole", "cut"):
        story = tape(tmp_path / name)
        for person in ("before", "after", "at last"):
            story.applies(f"poor {person}")
            story.applies(f"well off {person}", features=well_off)
            if person == "before":
                story.send("models", Model("loan", "v2", "memory", "3" * 64), 0, "m")
        ledger = story.fold(parts=[[record] for record in story.journal] if name == "cut" else None)
        told.append((story.run.outputs(), dump(ledger)))
        models = {answer.application: answer.model for answer in story.answers()}
        assert models == {
            "poor before": "v1",
            "poor after": "v2",
            "well off after": "v2",
            "poor at last": "v2",
            "well off at last": "v2",
        }
    assert told[0] == told[1]


def test_two_applications_of_one_name_in_a_chunk_are_not_mixed_up(tmp_path):
    told = []
    for name in ("whole", "cut"):
        story = tape(tmp_path / name)
        story.applies("x", id="first")
        story.applies("x", id="second", features=RICH)
        ledger = story.fold(parts=[[record] for record in story.journal] if name == "cut" else None)
        told.append((story.run.outputs(), dump(ledger)))
        assert story.reasons() == ["application_already_known"]
        assert len(story.answers()) == 1
    assert told[0] == told[1]
