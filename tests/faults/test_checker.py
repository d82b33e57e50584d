"""What the fault suite's checker can see: it is only worth what it finds where there is something to find."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from pipeline import START_MS, build_program
from tape import MINUTE_MS, TIMED, tape

from onward.faults.checker import Findings, compare_outputs, compare_states, name_of
from onward.faults.demands import POISON, demands_of, met
from onward.faults.reference import dump, standing, uninterrupted
from onward.streams.outputs.emission import GENERATION
from onward.streams.records import Record


@pytest.fixture
def story(tmp_path):
    """Three people: x has an outcome, the windows of y and z close without one."""
    story = tape(tmp_path, **TIMED)
    story.inputs = [story.applies(name) for name in "xyz"]
    story.inputs += [story.decides("x", MINUTE_MS), story.tells("x", MINUTE_MS)]
    story.tick(60 * MINUTE_MS)
    story.ledger = story.fold()
    story.outputs = [record for topic in story.run.topics.outputs for record in story.run.broker.logs[topic, 0]]
    return story


def reference(story, tmp_path):
    stops = [standing(story.ledger)]
    return uninterrupted(story.run.programs, story.run.topics, story.journal, stops, tmp_path / "reference")


def compared(story, tmp_path, outputs):
    findings = Findings()
    compare_outputs(outputs, reference(story, tmp_path).outputs, findings)
    return findings


def answers(story):
    return [record for record in story.outputs if record.topic == "recourse"]


def of_generation(record, number):
    headers = [pair for pair in record.headers if pair[0] != GENERATION]
    return record._replace(headers=(*headers, (GENERATION, b"%d" % number)))


def test_an_uninterrupted_run_is_clean(story, tmp_path):
    expected, findings = reference(story, tmp_path), Findings()
    compare_outputs(story.outputs, expected.outputs, findings)
    compare_states({"ledger": dump(story.ledger)}, {"ledger": expected.dumps[standing(story.ledger)]}, findings)
    assert findings.good
    assert findings.records == len(story.outputs) >= 6


def test_every_lost_output_is_seen(story, tmp_path):
    for lost in story.outputs:
        found = compared(story, tmp_path / name_of(lost), [record for record in story.outputs if record != lost])
        assert found.lost == {name_of(lost)}
        assert not found.good


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_the_same_bytes_once_more_are_a_duplicate_whoever_wrote_them(story, tmp_path, generation):
    again = of_generation(answers(story)[0], generation)
    found = compared(story, tmp_path, [*story.outputs, again])
    assert (found.duplicates, found.good) == (1, True)


@pytest.mark.parametrize("change", [{"value": b"{}"}, {"key": b"?"}, {"timestamp_ms": 7}, {"partition": 3}])
def test_other_bytes_of_the_same_name_conflict(story, tmp_path, change):
    first = answers(story)[0]
    found = compared(story, tmp_path, [*story.outputs, first._replace(**change)])
    assert found.conflicting == {name_of(first)}
    assert not found.good


def test_an_output_that_nobody_should_have_written_conflicts(story, tmp_path):
    invented = Record("recourse", 0, 9, 0, None, b"{}", (("ce_id", b"recourse/loan/nobody"),))
    assert compared(story, tmp_path, [*story.outputs, invented]).conflicting == {"recourse/loan/nobody"}


def test_what_comes_behind_a_later_output_is_lost_for_readers_who_drop_repeats(story, tmp_path):
    """A woken zombie's outputs without those before them: the successor writes those too late."""
    first, second, third = answers(story)
    rest = [record for record in story.outputs if record.topic != "recourse"]
    found = compared(story, tmp_path, [second, first, second, third, *rest])
    assert found.lost == {name_of(first)}


def test_a_changed_ledger_and_a_missing_one_are_seen(story, tmp_path):
    expected = {"ledger": reference(story, tmp_path).dumps[standing(story.ledger)]}
    with closing(sqlite3.connect(story.ledger)) as db, db:
        db.execute("UPDATE shards SET learner = zeroblob(length(learner))")
    findings = Findings()
    compare_states({"ledger": dump(story.ledger)}, expected, findings)
    assert findings.unequal == {"ledger"}
    findings = Findings()
    compare_states({}, expected, findings)
    assert not findings.state_equal
    findings = Findings()
    compare_states({}, {}, findings)
    assert not findings.state_equal


def test_the_topics_alone_tell_what_is_missing(story):
    """For each of the outputs, without knowing how the pipeline came to it."""
    poison = Record("applications", 0, 9, START_MS, POISON + b"1", b"{", ())
    demands = demands_of(story.run.programs, story.run.topics, [*story.inputs, poison])
    assert demands.answers.keys() == {f"recourse/loan/{name}" for name in "xyz"}
    for without in story.outputs:
        found = met(demands, story.run.topics, [record for record in story.outputs if record != without])
        missing = found.missing - {"dead-letter/applications/0/9"}
        # The decision of a program that decides for itself is refused, and owed nothing.
        assert name_of(without) in missing or without.topic == "dead-letters", without
    assert met(demands, story.run.topics, story.outputs).missing == {"dead-letter/applications/0/9"}


def test_a_refused_application_is_told_from_a_lost_one(story):
    demands = demands_of(story.run.programs, story.run.topics, story.inputs)
    letter = (
        b'{"reason":"r","detail":"","topic":"applications","partition":0,"offset":1,"size":0,"sha256":"","value":null}'
    )
    others = [record for record in story.outputs if name_of(record) not in ("recourse/loan/y", "reward/loan/y")]
    refused = Record("dead-letters", 0, 0, 0, None, letter, (("ce_id", b"dead-letter/applications/0/1"),))
    found = met(demands, story.run.topics, [*others, refused])
    assert (found.missing, found.refused) == (set(), {"recourse/loan/y"})
    assert met(demands, story.run.topics, others).missing == {"recourse/loan/y"}


def test_when_a_program_was_added_is_no_part_of_a_state(tmp_path):
    dumps = []
    for early in (True, False):
        story = tape(tmp_path / str(early), **TIMED)
        credit = {"credit": build_program("credit", **TIMED)}
        if early:
            story.run.programs = story.run.programs | credit
        story.applies("x")
        story.fold()
        story.run.programs = story.run.programs | credit
        story.applies("y", program="credit")
        dumps.append(dump(story.fold()))
    assert dumps[0] == dumps[1]
    assert sum(line.startswith("cases ('credit', 'y'") for line in dumps[0]) == 1
