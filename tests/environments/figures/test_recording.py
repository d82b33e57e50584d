"""Statistics of a run, from records in any order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.environments.figures.recording import Latency, PolicySummary, Recording
from onward.schemas.events import Application, Change, DeadLetter, NoRecourse, Option, Outcome, Recourse, Reward
from onward.streams.outputs.emission import GENERATION
from onward.streams.records import Record

OFFSETS = count()


def record(topic, event, id, timestamp_ms=1000):
    headers = (("ce_id", id.encode()),)
    return Record(topic, 0, next(OFFSETS), timestamp_ms, b"k", msgspec.json.encode(event), headers)


def applied(name, timestamp_ms=1000):
    return "applications", Application("loan", name, {}), f"loan/application/{name}", timestamp_ms


def answered(name, candidate="0"):
    option = Option(candidate, (), 0.1, 0.9, 1.0)
    return "recourse", Recourse("loan", 0, name, 0, (option,), "p", "v", "s", "m"), f"recourse/loan/{name}", 1000


def refused(name):
    return "recourse", NoRecourse("loan", 0, name, 0, "r", "", "p", "v", "s", "m"), f"recourse/loan/{name}", 1000


def met(name, fate, id=None):
    return "rewards", Reward("loan", 0, name, fate), id or f"reward/loan/{name}", 1000


def summarised(*events, is_rejected=lambda program, name: name.startswith("r")):
    """The summary of events, the n-th of which was read at 1000 + 10 n ms."""
    recording = Recording(is_rejected)
    for number, (topic, event, id, timestamp_ms) in enumerate(events):
        recording.add(record(topic, event, id, timestamp_ms), id, event, 1000.0 + 10 * number)
    return recording.summary({})


def test_rejected_people_without_an_answer_are_lost():
    summary = summarised(applied("a1"), applied("r1"), applied("r2"), applied("r3"), answered("r1"), refused("r3"))
    assert (summary.applications, summary.rejected, summary.recourse, summary.none) == (4, 3, 1, 1)
    assert summary.lost == 1


def test_a_sender_s_repeat_is_one_application():
    assert summarised(applied("r1"), applied("r1")).applications == 1


def test_repeats_are_duplicates_and_only_different_ones_conflict():
    summary = summarised(answered("r1"), answered("r1"), answered("r1", candidate="5"), met("r1", "censored"))
    assert (summary.recourse, summary.duplicates, summary.conflicting_duplicates) == (1, 2, 1)


def test_a_repeat_by_a_later_owner_is_no_conflict():
    recording = Recording(lambda program, name: True)
    topic, event, id, timestamp_ms = answered("r1")
    for generation in (b"1", b"2"):
        written = record(topic, event, id, timestamp_ms)
        recording.add(written._replace(headers=(*written.headers, (GENERATION, generation))), id, event, 1000.0)
    summary = recording.summary({})
    assert (summary.duplicates, summary.conflicting_duplicates) == (1, 0)


def test_the_same_id_on_two_topics_is_no_repeat():
    assert summarised(answered("r1"), met("r1", "rewarded", id="recourse/loan/r1")).duplicates == 0


def test_a_repeat_under_other_headers_conflicts():
    recording = Recording(lambda *_: True)
    topic, event, id, _ = met("r1", "rewarded")
    first = record(topic, event, id)
    for each in (first, first._replace(headers=(("ce_id", id.encode()), ("more", b"1")))):
        recording.add(each, id, event, 0.0)
    assert recording.summary({}).conflicting_duplicates == 1


def test_fates_are_counted_and_three_of_them_close_a_recourse():
    events = [answered(f"r{number}") for number in range(5)]
    events += [met("r0", "rewarded"), met("r1", "censored"), met("r2", "unseen"), met("r1", "late", id="late/r1")]
    summary = summarised(*events)
    assert summary.fates == {"rewarded": 1, "censored": 1, "late": 1, "dangling": 0, "unseen": 1}
    assert summary.open == 2


def test_dead_letters_are_counted():
    letter = DeadLetter("wrong_type", "", "applications", 0, 0, 2, "0" * 64, b"{}")
    assert summarised(("dead-letters", letter, "applications/0/0", 1000)).dead_letters == 1


def test_latency_is_from_the_application_s_record_to_the_reading_of_its_first_answer():
    summary = summarised(applied("r1", 980), answered("r1"), applied("r2", 1010), answered("r2"), answered("r2"))
    assert summary.latency_seconds == Latency(p50=pytest.approx(0.025), p99=pytest.approx(0.0299))


def test_speed_counts_every_event_that_was_read():
    outcome = ("outcomes", Outcome("loan", "r1", "improved"), "loan/outcome/r1", 1000)
    assert summarised(applied("r1"), answered("r1"), outcome).events_per_second == pytest.approx(3 / 0.02)


def test_nothing_read_is_no_speed_and_no_latency():
    summary = summarised()
    assert summary.events_per_second == 0.0
    assert summary.latency_seconds == Latency(None, None)
    assert summary.oracle_mer == 0.0


@dataclass
class Score:
    rounds: int
    oracle_mer: float
    mer: float = 0.5
    improvement: float = 0.75
    cost: float = 2.0
    regret: float = 3.0
    suggestions: int = 4


def test_policies_are_scored_and_the_oracle_is_that_of_the_one_furthest_on():
    summary = Recording(lambda *_: True).summary({"protoar": Score(5, 0.9), "linucb": Score(7, 0.8)})
    assert summary.oracle_mer == 0.8
    assert summary.policies == {name: PolicySummary(0.5, 0.75, 2.0, 3.0, 4) for name in ("protoar", "linucb")}


EVENTS = [applied("r1"), applied("r2"), answered("r1"), refused("r2"), met("r1", "rewarded"), answered("r1")]


@given(st.permutations(EVENTS))
def test_the_order_of_reading_does_not_matter(order):
    summary, other = summarised(*EVENTS), summarised(*order)
    nothing = Latency(None, None)
    assert msgspec.structs.replace(summary, latency_seconds=nothing) == msgspec.structs.replace(
        other, latency_seconds=nothing
    )


def changed(name, *sizes, program="loan"):
    options = tuple(
        Option("0", (Change("income", 1, 2),) * size, 0.1, 0.9, 1.0, str(number))
        for number, size in enumerate(sizes, 1)
    )
    return "recourse", Recourse(program, 0, name, 0, options, "p", "v", "s", "m"), f"recourse/{program}/{name}", 1000


def test_options_and_their_changes_are_counted_and_the_share_of_none():
    summary = summarised(changed("r1", 1, 5), changed("r2", 4), refused("r3"), refused("r4"))
    assert (summary.options, summary.none_share) == (3, 0.5)
    assert summary.mean_changes == pytest.approx(10 / 3)
    assert summary.many_changes_share == pytest.approx(1 / 3)


def test_examples_are_the_first_names_of_the_program_that_is_shown():
    recording = Recording(lambda *_: True)
    for topic, event, id, timestamp_ms in (changed(name, 1, program="own") for name in ("r3", "r1", "r2")):
        recording.add(record(topic, event, id, timestamp_ms), id, event, 1000.0)
    topic, event, id, timestamp_ms = changed("r0", 1, 2)
    recording.add(record(topic, event, id, timestamp_ms), id, event, 1000.0)
    assert [one.application for one in recording.summary({}, "own").examples] == ["r1", "r2"]
