"""Somebody who knows the name of another person's application gets nothing of theirs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.schemas.events import Application, DeadLetter, ModelDecision, PromiseChange
from onward.tests.streams.engine.promises.stories import HOUR_MS, Story, digest_of, promising, story

pytestmark = pytest.mark.attack

GRANDFATHER = promising({"grandfather": True})
DONE = {"income": 50.0, "debts": 3}
"""The first model accepts it, and the last one, v4, does not."""


@pytest.fixture
def tape(tmp_path, monkeypatch):
    return story(tmp_path, monkeypatch, GRANDFATHER)


def about(tape: Story, *names: str) -> list[bytes]:
    """The bytes of the decisions about applications, and of the ends of what was promised to them."""
    topics = ("model-decisions", "promises")
    outputs = [(record.topic, record.value or b"") for (_, log) in tape.run.broker.logs.items() for record in log]
    marks = [f'"application":"{name}"'.encode() for name in names]
    return [value for topic, value in outputs if topic in topics and any(mark in value for mark in marks)]


def returns(tape: Story, newcomers: list[tuple[str, str | None, str | None, float]]) -> Story:
    """Ada and somebody without an applicant are promised options, a stricter model comes, others apply, Ada returns."""
    tape.applies_with("a", 0, applicant="ada")
    tape.applies_with("bare", 0, applicant=None)
    tape.new_model("v4", 1)
    tape.passes(2)
    for number, (name, applicant, previous, income) in enumerate(newcomers):
        features = {"region": "north", "income": income, "debts": 3}
        event = Application("loan", name, features, applicant, previous)
        tape.send("applications", event, 3 * HOUR_MS + number, f"n-{number}")
    tape.applies_with("again", 4, applicant="ada", previous="a", **DONE)
    tape.fold()
    return tape


@pytest.mark.parametrize("applicant", [None, "eve"])
def test_a_stranger_is_not_approved_by_the_promise_to_another(tape, applicant):
    returns(tape, [("stranger", applicant, "a", DONE["income"])])
    decided = {one.application: one.approved for one in tape.run.events("model-decisions", ModelDecision)}
    assert (decided["stranger"], decided["again"]) == (False, True)
    assert [(end.application, end.by) for end in tape.ends()] == [("a", "again")] * len(tape.ends())
    assert tape.metrics.registry.get_sample_value("onward_ignored_previous_total", {"program": "loan"}) == 1.0


def test_nobody_is_known_by_the_name_of_an_application_without_an_applicant(tape):
    returns(tape, [("stranger", None, "bare", DONE["income"])])
    assert {end.application for end in tape.ends()} == {"a"}


@pytest.mark.parametrize("applicant", [None, "eve"])
def test_the_name_of_an_open_promise_is_not_used_again_by_another(tmp_path, monkeypatch, applicant):
    """The case is forgotten a month after its outcome, and the options are open for two."""
    tape, month = story(tmp_path, monkeypatch, promising({"valid_for": "P60D"})), 32 * 24
    tape.applies_with("a", -month, applicant="ada")
    tape.outcome("a", (1 - month) * HOUR_MS, option="1")
    tape.tick(0)
    features = {"region": "north", "income": 30.0, "debts": 4}
    tape.send("applications", Application("loan", "a", features, applicant), 0, "eve's")
    tape.fold()
    assert tape.ends() == []
    assert tape.reasons() == ["name_of_another_applicant"]


@pytest.mark.parametrize("id", ["a-a", "another"])
def test_an_application_with_the_name_of_anothers_is_a_dead_letter_that_says_so(tape, id):
    """Also with the ``ce_id`` of the other one: it is no repeat."""
    tape.applies_with("a", 0, applicant="ada")
    tape.send("applications", Application("loan", "a", {"region": "north", "income": 1.0, "debts": 4}, "eve"), 1, id)
    tape.fold()
    [letter] = tape.run.events("dead-letters", DeadLetter)
    assert letter.reason == "name_of_another_applicant"
    assert "ada" not in letter.detail
    assert len(tape.answers()) == 1


NAMES = ["a", "bare", "again", "new-1", "new-2", "new-3"]
NEWCOMERS = st.lists(
    st.tuples(
        st.sampled_from(["a", "new-1", "new-2", "new-3"]),
        st.sampled_from([None, "eve", "ad", "a", "bare"]),
        st.sampled_from([None, *NAMES]),
        st.sampled_from([10.0, DONE["income"], 100.0]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=15, deadline=None)
@given(newcomers=NEWCOMERS)
def test_whatever_strangers_send_a_persons_decisions_and_promises_are_the_same_bytes(newcomers):
    with pytest.MonkeyPatch.context() as monkeypatch, TemporaryDirectory() as folder:
        alone = returns(story(Path(folder) / "alone", monkeypatch, GRANDFATHER), [])
        among = returns(story(Path(folder) / "among", monkeypatch, GRANDFATHER), newcomers)
    expected = about(alone, "a", "again", "bare")
    assert len(expected) > 3
    assert about(among, "a", "again", "bare") == expected
    assert {end.model_sha256 for end in among.ends() if isinstance(end, PromiseChange)} <= {digest_of("v4")}
