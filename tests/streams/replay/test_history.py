"""The history of an application, from the records of a pipeline in memory."""

from __future__ import annotations

import json

import hypothesis
import pytest
from hypothesis import strategies as st

from onward.schemas.events import Application, Erasure, Outcome
from onward.streams.records import TopicPartition
from onward.streams.replay.history import History, _Places, state_of
from onward.testing.pipeline import START_MS
from onward.testing.tape import MINUTE_MS, POOR, RICH, TIMED, tape
from onward.tests.streams.engine.rounds.stories import HOUR_MS
from onward.tests.streams.engine.rounds.stories import story as rounds_story


def history(story, inputs=(), application="x", program=None):
    """Everything about the application: outputs, then journal, then the records of the input topics."""
    found, topics = History(application, program, story.run.topics), story.run.topics
    for topic in (*topics.outputs, topics.journal):
        for record in story.run.broker.logs[topic, 0]:
            found.feed(record)
    for record in inputs:
        found.feed(record)
    return found


def erased(story, ms, **named):
    return story.send("erasures", Erasure("loan", **named), ms, f"e-{ms}")


def applies(story, name, ms, applicant):
    return story.send("applications", Application("loan", name, dict(POOR), applicant), ms, f"a-{name}-{ms}")


def kinds(found):
    return [happening.kind for happening in found.happenings]


@pytest.fixture
def story(tmp_path):
    return tape(tmp_path, decisions="external", **TIMED)


def test_every_event_is_there_once_in_the_order_of_time(story):
    sent = [story.applies("x"), story.applies("y"), story.decides("x", 1), story.outcome("x", MINUTE_MS)]
    story.again(sent[0])
    story.fold()
    found = history(story, sent)
    assert kinds(found) == ["application", "decision", "recourse", "outcome", "reward"]
    assert [happening.time_ms - START_MS for happening in found.happenings] == [0, 1, 1, MINUTE_MS, MINUTE_MS]
    first, _, recourse, *_ = found.happenings
    assert (first.topic, first.partition, first.offset, first.id) == ("applications", 0, 0, "a-x")
    assert first.event == Application("loan", "x", dict(POOR))
    assert (recourse.topic, recourse.offset) == ("recourse", 0)
    assert found.journal_partitions == {0}
    assert state_of(found.happenings) == "closed"


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ([], "without an answer"),
        ([("decides", {"approved": True})], "approved"),
        ([("decides", {})], "waits for an outcome"),
        ([("decides", {}), ("outcome", {"result": "unseen"})], "closed"),
    ],
)
def test_its_state_is_told(story, steps, state):
    story.applies("x")
    for minute, (step, given) in enumerate(steps, 1):
        getattr(story, step)("x", minute * MINUTE_MS, **given)
    story.fold()
    assert state_of(history(story).happenings).startswith(state)


@pytest.fixture
def competition(tmp_path):
    """Two of four get a place; "low" comes back as "again" with their target score, and gets one."""
    found = rounds_story(tmp_path, horizon=3)
    for name, income in {"low": 25, "best": 45, "middle": 30, "good": 40}.items():
        found.applies_with(name, MINUTE_MS, income)
    found.tick(HOUR_MS + 6 * MINUTE_MS)
    found.applies_with("again", HOUR_MS + 6 * MINUTE_MS, 99, previous="low")
    found.tick(2 * HOUR_MS + 6 * MINUTE_MS)
    found.applies_with("waiting", 2 * HOUR_MS + 6 * MINUTE_MS, 50)
    found.fold()
    return found


@pytest.mark.parametrize(
    ("name", "events", "state"),
    [
        ("best", ["application", "model-decision"], "approved: a place in round 1"),
        (
            "middle",
            ["application", "model-decision", "recourse"],
            "waits for an outcome; the promise holds up to round 4",
        ),
        (
            "low",
            ["application", "model-decision", "recourse", "promise"],
            "waits for an outcome; the promise is kept, in round 2",
        ),
        ("again", ["application", "model-decision", "promise"], "approved: a place in round 2"),
    ],
)
def test_rounds_and_promises_are_told(competition, name, events, state):
    found = history(competition, competition.sent, application=name, program="loan")
    assert kinds(found) == events
    assert state_of(found.happenings) == state


def test_who_waits_for_a_round_has_no_answer_yet(competition):
    found = history(competition, application="waiting")
    assert kinds(found) == ["application"]
    assert "waits for its decision or its round" in state_of(found.happenings)


def test_without_a_way_forward_nothing_is_awaited(tmp_path):
    story = tape(tmp_path, candidates=1)
    story.applies("x")
    story.fold()
    assert state_of(history(story).happenings) == "closed: there is no way forward"


def test_an_application_that_no_worker_has_read_is_there(story):
    pending = story.sender.record("applications", Application("loan", "x", dict(RICH)), time_ms=START_MS, id="a-x")
    [happening] = history(story, [pending]).happenings
    assert not happening.was_read
    assert state_of([happening]) == "no worker has read it yet"


def test_an_event_that_is_sent_again_is_marked(story):
    first = story.applies("x")
    second = story.applies("x", 5)
    story.fold()
    found = history(story, [first, second]).happenings
    assert [(happening.kind, happening.repeated) for happening in found] == [
        ("application", False),
        ("application", True),
    ]


def test_dead_letters_name_the_record_that_was_refused(story):
    refused = story.applies("x", features={**POOR, "region": "east"})
    story.applies("y")
    story.outcome("y", MINUTE_MS, option="7")
    story.decides("y", 1)
    story.fold()
    found = history(story, [refused])
    assert kinds(found) == ["application", "dead-letter"]
    application, letter = found.happenings
    assert application.refused
    assert application.was_read
    assert (letter.topic, letter.offset) == ("applications", refused.offset)
    assert letter.event.reason == "unknown_category"
    assert state_of(found.happenings) == "refused: see the dead letter"
    assert history(story, application="y").happenings[-1].event.reason == "unknown_option"


def test_the_journal_tells_of_refused_records_whose_dead_letters_are_gone(story):
    story.applies("x", features={**POOR, "region": "east"})
    story.fold()
    broker = story.run.broker
    broker.logs["dead-letters", 0].clear()
    assert kinds(history(story)) == []
    # It holds their positions only: what they say is on their topic.
    found = history(story, broker.inputs.values())
    assert kinds(found) == ["application"]
    assert state_of(found.happenings) == "refused: see the dead letter"


def test_a_record_that_is_no_json_is_known_by_its_text(story):
    broken = story.sender.record("applications", Application("loan", "x", {}), time_ms=START_MS, id="a-x")
    story.again(broken._replace(value=b'{"program": "loan", "application": "x", '))
    story.again(broken._replace(value=b"{", key=b"x", offset=1))
    story.again(broken._replace(value=b"{", offset=2))
    story.fold()
    assert [happening.offset for happening in history(story).happenings] == [0, 1]


def test_only_the_program_that_is_asked_for_is_told_of(story):
    story.applies("x")
    other = story.sender.record("outcomes", Outcome("cars", "x", "improved"), time_ms=START_MS, id="o-x")
    story.fold()
    assert [happening.program for happening in history(story, [other]).happenings] == ["loan", "cars"]
    assert [happening.program for happening in history(story, [other], program="loan").happenings] == ["loan"]
    assert history(story, [other], program="boats").happenings == []


def test_a_name_is_found_however_its_sender_wrote_it(story):
    event = Application("loan", "é/x", dict(POOR))
    raw = json.dumps({"program": "loan", "application": "é/x", "features": dict(POOR)}).encode()
    assert b"\\u00e9" in raw
    story.again(story.sender.record("applications", event, time_ms=START_MS, id="a", raw=raw))
    story.decides("é/x", 1)
    story.fold()
    assert kinds(history(story, application="é/x")) == ["application", "decision", "recourse"]


def test_an_output_that_is_published_twice_counts_once(story):
    story.applies("x")
    story.decides("x", 1)
    story.fold()
    [published] = story.run.broker.logs["recourse", 0]
    story.run.broker.logs["recourse", 0].append(published._replace(offset=1))
    assert kinds(history(story)).count("recourse") == 1


@pytest.mark.parametrize(
    ("applied_ms", "erased_ms", "first", "state"),
    [
        (0, MINUTE_MS, "application", "erased"),
        # What is in the journal is erased, whatever time it says.
        (2 * MINUTE_MS, MINUTE_MS, "application", "erased"),
        # What was sent before the erasure, too.
        (0, MINUTE_MS, "erasure", "erased"),
        # Who comes back after the erasure stays.
        (2 * MINUTE_MS, MINUTE_MS, "erasure", "waits for an outcome"),
    ],
)
def test_who_was_erased_by_applicant_is_told_as_erased(tmp_path, applied_ms, erased_ms, first, state):
    story = tape(tmp_path, **TIMED)
    steps = [lambda: applies(story, "x", applied_ms, "Ada"), lambda: erased(story, erased_ms, applicant="Ada")]
    sent = [step() for step in (steps if first == "application" else reversed(steps))]
    sent += [applies(story, "y", 0, "Eve"), erased(story, erased_ms + 1, applicant="another")]
    story.fold()
    found = history(story, sent)
    assert ("erasure" in kinds(found)) == (state == "erased")
    assert state_of(found.happenings) == state
    # The journal says where the worker left it out.
    answered = any(answer.application == "x" for answer in story.answers())
    assert answered == (first == "application" or state != "erased")
    other = history(story, sent, application="y")
    assert state_of(other.happenings) == "waits for an outcome"
    assert "erasure" not in kinds(other)


def test_an_erasure_by_applicant_that_no_worker_has_read_is_there(tmp_path):
    story = tape(tmp_path, **TIMED)
    sent = [applies(story, "x", 0, "Ada")]
    story.fold()
    event = Erasure("loan", applicant="Ada")
    sent.append(story.sender.record("erasures", event, time_ms=START_MS + MINUTE_MS, id="e"))
    found = history(story, sent)
    assert [(one.kind, one.was_read) for one in found.happenings][-1] == ("erasure", False)
    assert state_of(found.happenings).startswith("to be erased")


@hypothesis.given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=12), st.integers(0, 30))
def test_an_offset_is_found_in_any_of_the_ranges_of_its_partition(ranges, offset):
    own = {(first, first + more) for first, more in ranges}
    places = _Places({TopicPartition("outcomes", 0): own})
    assert places.hold("outcomes", 0, offset) == any(first <= offset <= last for first, last in own)
    assert not places.hold("outcomes", 1, offset)
