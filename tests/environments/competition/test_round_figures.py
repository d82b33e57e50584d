"""Statistics of rounds and promises, from events in any order."""

from __future__ import annotations

from itertools import permutations

import msgspec

from onward.environments.competition.played import promises_of, shown
from onward.environments.figures.recording import PromiseSummary, Recording
from onward.environments.figures.sections import RunView
from onward.schemas.events import Coverage, ModelDecision, NoRecourse, PromiseChange, Recourse, Threshold
from onward.streams.records import Record


def closed(number, achieved=None):
    return Threshold(
        "grants", 0, number, "2026-11-30T00:00:00Z", 1, 3, 3, 0, 0, 1, 0.6, 0.7, 0.7, number + 1,
        Coverage(0.9, achieved, number + 1), 0, (), "m",
    )  # fmt: skip


def promised(name):
    return Recourse("grants", 0, name, 0, (), "p", "v", "s", "m", target_score=0.7)


def refused(name, reason):
    return NoRecourse("grants", 0, name, 0, reason, "", "p", "v", "s", "m", target_score=0.7)


def ended(name, status, score=None):
    by = None if score is None else "x"
    return PromiseChange("grants", 0, name, status, None, by, score, 0.7, 0, 1, 1)


EVENTS = [
    closed(1),
    closed(0),
    promised("a"),
    promised("b"),
    refused("c", "apply_again"),
    refused("d", "out_of_reach"),
]


def recorded(events):
    recording = Recording()
    for event in events:
        recording.note(event)
    return recording


def data_of(events):
    """What ``--json`` has of some events."""
    [section] = shown(recorded(events), 2).sections
    return section.data


def test_promises_are_counted_by_what_became_of_them():
    for events in permutations([*EVENTS[2:], ended("a", "expired"), ended("c", "kept", 0.8)]):
        assert promises_of(recorded(events)) == PromiseSummary(open=1, kept=1, broken=0, expired=1, superseded=0)


def test_coverage_is_the_share_of_those_with_their_score_that_got_a_place():
    assert data_of(EVENTS)["coverage"] == {"nominal": 0.9, "achieved": None, "rounds": 2}
    more = (
        ended("a", "kept", 0.7 - 1e-10),
        ended("b", "broken", 0.75),
        ended("c", "kept", 0.5),
        ended("d", "superseded", 0.6),
        ended("e", "expired"),
    )
    data = data_of([*EVENTS, *more])
    assert data["coverage"] == {"nominal": 0.9, "achieved": 0.5, "rounds": 2}
    assert [one.round for one in data["last_rounds"]] == [0, 1]


def test_a_rejected_member_of_a_round_without_an_answer_is_lost():
    recording = Recording()
    decisions = [
        ModelDecision("grants", 0, name, name == "a", "m", "s", round=0, score=0.5, threshold=0.6) for name in "abc"
    ]
    for number, event in enumerate([*decisions, decisions[1], promised("b"), closed(0)]):
        name = getattr(event, "application", "0")
        headers = (("ce_id", f"{type(event).__name__}/{name}".encode()),)
        record = Record("t", 0, number, 1000, b"k", msgspec.json.encode(event), headers)
        recording.add(record, f"{type(event).__name__}/{name}", event, 1000.0)
    summary = recording.summary({})
    assert (summary.rejected, summary.lost, summary.duplicates, summary.conflicting_duplicates) == (2, 1, 1, 0)
    data = shown(recording, 1).sections[0].data
    assert data["promises"] == PromiseSummary(1, 0, 0, 0, 0)
    assert [one.round for one in data["last_rounds"]] == [0]


def test_before_the_first_round_is_closed_nothing_is_said_of_rounds():
    recording = Recording()
    printed = msgspec.json.decode(RunView(recording.summary({}), shown(recording, 2)).encoded)
    assert not {"coverage", "promises", "last_rounds"} & set(printed)
    assert printed["feasibility"] is None
