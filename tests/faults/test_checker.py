"""The checker of the fault suite finds every fault that is put in front of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from onward.streams.outputs.emission import GENERATION
from onward.streams.records import Record
from onward.testing.ledger import dump
from onward.testing.pipeline import START_MS
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS, TIMED, tape
from onward.tests.faults.suite.check.checker import Findings, compare_outputs, compare_states, name_of
from onward.tests.faults.suite.check.expected_outputs import POISON, expected_outputs, observe_outputs
from onward.tests.faults.suite.check.reference_run import reference_run
from onward.tests.support.ledgers import ledger_position


@pytest.fixture
def story(tmp_path):
    """Three people: x has an outcome, the windows of y and z close without one."""
    story = tape(tmp_path, **TIMED)
    story.inputs = [story.applies(name) for name in "xyz"]
    story.inputs += [story.decides("x", MINUTE_MS), story.outcome("x", MINUTE_MS)]
    story.tick(60 * MINUTE_MS)
    story.ledger = story.fold()
    story.outputs = [record for topic in story.run.topics.outputs for record in story.run.broker.logs[topic, 0]]
    return story


def reference(story, tmp_path):
    positions = [ledger_position(story.ledger)]
    return reference_run(
        story.run.programs,
        story.run.topics,
        story.journal,
        positions,
        tmp_path / "reference",
        story.run.broker.inputs.values(),
    )


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
    compare_states({"ledger": dump(story.ledger)}, {"ledger": expected.dumps[ledger_position(story.ledger)]}, findings)
    assert findings.is_clean
    assert findings.records == len(story.outputs) >= 6


def test_every_lost_output_is_found(story, tmp_path):
    for lost in story.outputs:
        found = compared(story, tmp_path / name_of(lost), [record for record in story.outputs if record != lost])
        assert found.lost == {name_of(lost)}
        assert not found.is_clean


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_a_second_record_with_the_same_bytes_is_a_duplicate_in_any_generation(story, tmp_path, generation):
    again = of_generation(answers(story)[0], generation)
    found = compared(story, tmp_path, [*story.outputs, again])
    assert (found.duplicates, found.is_clean) == (1, True)


@pytest.mark.parametrize("change", [{"value": b"{}"}, {"key": b"?"}, {"timestamp_ms": 7}, {"partition": 3}])
def test_a_second_record_with_other_bytes_conflicts(story, tmp_path, change):
    first = answers(story)[0]
    found = compared(story, tmp_path, [*story.outputs, first._replace(**change)])
    assert found.conflicting == {name_of(first)}
    assert not found.is_clean


def test_an_output_that_the_reference_run_does_not_write_conflicts(story, tmp_path):
    invented = Record("recourse", 0, 9, 0, None, b"{}", (("ce_id", b"recourse/loan/nobody"),))
    assert compared(story, tmp_path, [*story.outputs, invented]).conflicting == {"recourse/loan/nobody"}


def test_an_output_behind_a_later_one_is_lost_for_readers_that_drop_repeated_records(story, tmp_path):
    """A zombie publishes later outputs without the earlier ones; the successor's earlier ones come too late."""
    first, second, third = answers(story)
    rest = [record for record in story.outputs if record.topic != "recourse"]
    found = compared(story, tmp_path, [second, first, second, third, *rest])
    assert found.lost == {name_of(first)}


def test_a_changed_ledger_and_a_missing_one_are_found(story, tmp_path):
    expected = {"ledger": reference(story, tmp_path).dumps[ledger_position(story.ledger)]}
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


def test_missing_outputs_are_found_from_the_topics_alone(story):
    """Leave out each output in turn."""
    poison = Record("applications", 0, 9, START_MS, POISON + b"1", b"{", ())
    expected = expected_outputs(story.run.programs, story.run.topics, [*story.inputs, poison])
    assert expected.answers.keys() == {f"recourse/loan/{name}" for name in "xyz"}
    for without in story.outputs:
        found = observe_outputs(expected, story.run.topics, [record for record in story.outputs if record != without])
        missing = found.missing - {"dead-letter/applications/0/9"}
        # An external decision on a program with a model becomes a dead letter, which no input requires.
        assert name_of(without) in missing or without.topic == "dead-letters", without
    assert observe_outputs(expected, story.run.topics, story.outputs).missing == {"dead-letter/applications/0/9"}


def test_a_refused_application_is_distinguished_from_a_lost_one(story):
    expected = expected_outputs(story.run.programs, story.run.topics, story.inputs)
    letter = (
        b'{"reason":"r","detail":"","topic":"applications","partition":0,"offset":1,"size":0,"sha256":"","value":null}'
    )
    of_y = {f"{kind}/loan/y" for kind in ("model-decision", "recourse")}
    others = [record for record in story.outputs if name_of(record) not in {*of_y, "reward/loan/y"}]
    refused = Record("dead-letters", 0, 0, 0, None, letter, (("ce_id", b"dead-letter/applications/0/1"),))
    found = observe_outputs(expected, story.run.topics, [*others, refused])
    assert (found.missing, found.refused) == (set(), dict.fromkeys(of_y, "r"))
    assert observe_outputs(expected, story.run.topics, others).missing == of_y


def test_the_time_at_which_a_program_was_added_is_not_part_of_the_state(tmp_path):
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
