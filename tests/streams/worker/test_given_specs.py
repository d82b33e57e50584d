"""A worker's spec files beside the specs that its programs have had: the journal decides, and a mistake is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from onward.streams.errors import LedgerError
from onward.streams.records import Record
from onward.testing.pipeline import START_MS
from onward.testing.tape import MINUTE_MS, TIMED, Tape, tape
from onward.tests.support.changed_specs import CHANGES, Change, announce, policy, spec_event

NARROWER = CHANGES["a narrower bound"]
UNHEARD = r"the spec of program 'loan' .* has not been announced: .*`onward specs announce FILE`"


@pytest.fixture
def story(tmp_path) -> Tape:
    """A program whose spec was changed once, folded to its end."""
    story = tape(tmp_path, **TIMED)
    story.applies("before")
    topic = story.run.broker.logs["specs", 0]
    topic.append(announce(story, NARROWER, MINUTE_MS))
    story.applies("after", MINUTE_MS)
    story.fold()
    return story


def restart(story: Tape, change: Change, name: str = "ledger") -> list[str]:
    """Start a worker with the first spec changed so; return the hashes of the specs in all answers."""
    given = story.run.programs["loan"]
    story.run.programs = {"loan": given.begun_with(change(given.spec))}
    story.fold(name)
    return [answer.spec for answer in story.answers()]


@pytest.mark.parametrize("name", ["ledger", "rebuilt"])
def test_a_file_of_a_spec_that_was_in_force_runs_under_that_of_the_journal(story, name, caplog):
    expected = [answer.spec for answer in story.answers()]
    assert restart(story, lambda spec: spec, name) == expected
    assert "the spec in force is not that of the file" in caplog.text
    caplog.clear()
    assert restart(story, NARROWER, name) == expected
    assert "the spec in force" not in caplog.text
    story.applies("last", 2 * MINUTE_MS)
    assert restart(story, lambda spec: spec, name) == [*expected, expected[-1]]


@pytest.mark.parametrize("name", ["ledger", "rebuilt"])
def test_a_file_of_a_spec_that_nobody_has_announced_ends_the_worker(story, name):
    answers = story.answers()
    with pytest.raises(LedgerError, match=UNHEARD) as ended:
        restart(story, policy(options=2), name)
    assert (ended.value.exit_code, "\n" in str(ended.value)) == (4, False)
    assert story.answers() == answers


def test_a_file_of_a_spec_that_is_announced_and_not_read_yet_runs(story):
    change, given = policy(seed=5), story.run.programs["loan"]
    for spec in (change(given.spec), given.spec):
        sent(story, spec_event(given, spec))
    assert len(restart(story, change)) == 2


def sent(story: Tape, event: Any, raw: bytes | None = None) -> Record:
    """A record of the topic of specs that no worker has read."""
    record = story.sender.record("specs", event, time_ms=START_MS, id="x", raw=raw)
    story.run.broker.logs["specs", 0].append(record)
    return record


@pytest.mark.parametrize(
    "value", [b"", b"{", b'{"program":"loan","spec":[],"model":"x"}', msgspec.json.encode({"program": "other"})]
)
def test_records_of_the_topic_that_are_no_spec_of_the_program_announce_nothing(story, value):
    sent(story, None, value)
    with pytest.raises(LedgerError, match=UNHEARD):
        restart(story, policy(options=2))


def test_an_event_of_another_program_announces_nothing_whatever_spec_it_holds(story):
    change, given = policy(options=2), story.run.programs["loan"]
    sent(story, msgspec.structs.replace(spec_event(given, change(given.spec)), program="other"))
    with pytest.raises(LedgerError, match=UNHEARD):
        restart(story, change)


def test_a_spec_that_was_read_and_refused_is_not_announced(story):
    change, given = policy(parameters={"optimism": -1.0}), story.run.programs["loan"]
    story.again(sent(story, spec_event(given, change(given.spec))))
    story.fold()
    assert story.reasons() == ["spec_refused"]
    with pytest.raises(LedgerError, match=UNHEARD):
        restart(story, change)
