"""Statistics of rounds and promises, from events in any order."""

from __future__ import annotations

from itertools import permutations

import msgspec

from onward.environments.competition.played import CoverageSummary, RoundFigures
from onward.environments.figures.run_stats import PromiseSummary, RunStats, encoded
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


def test_promises_are_counted_by_what_became_of_them():
    for events in permutations([*EVENTS[2:], ended("a", "expired"), ended("c", "kept", 0.8)]):
        stats = RoundFigures(2)
        for event in events:
            stats.add(event)
        assert stats.promises == PromiseSummary(open=1, kept=1, broken=0, expired=1, superseded=0)


def test_coverage_is_the_share_of_those_with_their_score_that_got_a_place():
    stats = RoundFigures(2)
    assert stats.coverage is None
    for event in EVENTS:
        stats.add(event)
    assert stats.coverage == CoverageSummary(0.9, None, 2)
    for event in (
        ended("a", "kept", 0.7 - 1e-10),
        ended("b", "broken", 0.75),
        ended("c", "kept", 0.5),
        ended("d", "superseded", 0.6),
        ended("e", "expired"),
    ):
        stats.add(event)
    assert stats.coverage == CoverageSummary(0.9, 0.5, 2)
    assert [one.round for one in stats.rounds] == [0, 1]


def test_a_rejected_member_of_a_round_without_an_answer_is_lost():
    figures = RoundFigures(1)
    stats = RunStats(lambda *_: False, on_output=figures.add)
    decisions = [
        ModelDecision("grants", 0, name, name == "a", "m", "s", round=0, score=0.5, threshold=0.6) for name in "abc"
    ]
    for number, event in enumerate([*decisions, decisions[1], promised("b"), closed(0)]):
        name = getattr(event, "application", "0")
        headers = (("ce_id", f"{type(event).__name__}/{name}".encode()),)
        record = Record("t", 0, number, 1000, b"k", msgspec.json.encode(event), headers)
        stats.add(record, f"{type(event).__name__}/{name}", event, 1000.0)
    summary = stats.summary({})
    assert (summary.rejected, summary.lost, summary.duplicates, summary.conflicting_duplicates) == (2, 1, 1, 0)
    assert figures.own().promises == PromiseSummary(1, 0, 0, 0, 0)
    assert [one.round for one in figures.own().last_rounds] == [0]


def test_before_the_first_round_is_closed_nothing_is_said_of_rounds():
    printed = msgspec.json.decode(encoded(RunStats(lambda *_: False).summary({}), RoundFigures(2).own()))
    assert not {"coverage", "promises", "last_rounds"} & set(printed)
    assert printed["feasibility"] is None
