"""Laws of the engine: what comes out depends on the journal alone, not on how it was read or how it came about."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.schemas.events import Application, Decision, NoRecourse, Outcome, Recourse, Reward
from onward.testing.ledger import dump
from onward.testing.pipeline import START_MS, PipelineRun, Sender, idle_tick
from onward.testing.program import build_program

MINUTE_MS = 60_000
WINDOW_MS = 30 * MINUTE_MS
PROGRAMS = {
    "steps": {"window": {"steps": 3}},
    "timed": {"window": {"time": "PT30M"}, "shards": 2},
    "external": {"window": {"time": "PT30M"}, "decisions": "external"},
}
CLOSING = {"rewarded", "censored", "unseen"}


def programs(names):
    return {name: build_program(name, **PROGRAMS[name]) for name in names}


@st.composite
def histories(draw, names):
    """Input topics of some programs, each in time order: people, decisions for some, outcomes for some and for nobody,
    sender's repeats."""
    topics = {"applications": [], "decisions": [], "outcomes": []}
    for number in range(draw(st.integers(1, 14))):
        name = draw(st.sampled_from(names))
        application, minute = f"a{number}", draw(st.integers(0, 60))
        features = {
            "region": draw(st.sampled_from(["north", "south"])),
            "income": float(draw(st.integers(0, 100))),
            "debts": draw(st.integers(0, 10)),
        }
        topics["applications"].append((minute, application, Application(name, application, features)))
        if name == "external":
            later = minute + draw(st.integers(0, 10))
            decision = Decision(name, application, draw(st.booleans()))
            topics["decisions"].append((later, f"d{number}", decision))
        for again in range(draw(st.sampled_from([0, 1, 1, 2]))):
            target = draw(st.sampled_from([application, f"nobody{number}"]))
            result = draw(st.sampled_from(["improved", "improved", "not_improved", "unseen"]))
            later = minute + draw(st.integers(0, 90))
            topics["outcomes"].append((later, f"o{number}-{again}", Outcome(name, target, result)))
    for events in topics.values():
        if events and draw(st.booleans()):
            events.append(draw(st.sampled_from(events)))
        events.sort(key=lambda event: event[0])
    return topics


def records(topics):
    sender = Sender()
    return {
        topic: [
            sender.record(topic, event, time_ms=START_MS + minute * MINUTE_MS, id=id) for minute, id, event in events
        ]
        for topic, events in topics.items()
    }


@st.composite
def interleavings(draw, topics):
    """One order in which these topics may reach the journal; each keeps its own."""
    order = [topic for topic, events in topics.items() for _ in events]
    order = draw(st.permutations(order))
    left = {topic: iter(events) for topic, events in topics.items()}
    return [next(left[topic]) for topic in order]


def journal_of(run, order):
    journal = asyncio.run(run.ingest(order))
    journal.append(idle_tick(run, START_MS + 24 * 60 * MINUTE_MS))
    return journal


@given(data=st.data())
@settings(max_examples=25)
def test_any_cut_of_the_journal_gives_the_same_bytes_and_the_same_ledger(data):
    topics = records(data.draw(histories(list(PROGRAMS))))
    order = data.draw(interleavings(topics))
    with tempfile.TemporaryDirectory() as folder:
        whole = PipelineRun(programs(PROGRAMS), Path(folder))
        journal = journal_of(whole, order)
        reference = dump(asyncio.run(whole.fold(journal, name="whole")))
        cuts = data.draw(st.sets(st.integers(1, len(journal) - 1)))
        cut = PipelineRun(programs(PROGRAMS), Path(folder))
        ledger = asyncio.run(cut.fold(journal, sorted(cuts), name="cut"))
        assert cut.outputs() == whole.outputs()
        assert dump(ledger) == reference


def answers_and_fates(order, names):
    with tempfile.TemporaryDirectory() as folder:
        run = PipelineRun(programs(names), Path(folder))
        asyncio.run(run.fold(journal_of(run, order)))
        answers = run.events("recourse", Recourse | NoRecourse)
        fates = run.events("rewards", Reward)
    return answers, fates


def rejected(topics):
    """Who must be answered: told from the events alone, by the formula of the tests' model."""
    events = [msgspec.json.decode(record.value) for records in topics.values() for record in records]
    people = {(event["program"], event["application"]): event["features"] for event in events if "features" in event}
    decided = {}
    for event in events:
        if "approved" in event:
            decided.setdefault((event["program"], event["application"]), event["approved"])
    return {
        key
        for key, features in people.items()
        if not decided.get(key, key[0] == "external")
        and (key[0] == "external" or features["income"] / 100 - 0.05 * features["debts"] <= 0.5)
    }


@given(data=st.data())
@settings(max_examples=25)
def test_any_interleaving_answers_once_and_gives_one_fate(data):
    topics = records(data.draw(histories(list(PROGRAMS))))
    expected = rejected(topics)
    for order in [data.draw(interleavings(topics)) for _ in range(2)]:
        answers, fates = answers_and_fates(order, PROGRAMS)
        assert Counter((answer.program, answer.application) for answer in answers) == Counter(expected)
        closed = Counter((fate.program, fate.application) for fate in fates if fate.fate in CLOSING)
        assert set(closed.values()) <= {1}
        timed = {
            (answer.program, answer.application)
            for answer in answers
            if isinstance(answer, Recourse) and answer.program != "steps"
        }
        assert timed <= set(closed)


@given(data=st.data())
@settings(max_examples=25)
def test_with_windows_in_event_time_any_interleaving_gives_the_same_fates(data):
    names = ["timed", "external"]
    topics = records(data.draw(histories(names)))
    results = []
    for _ in range(2):
        _, fates = answers_and_fates(data.draw(interleavings(topics)), names)
        found = defaultdict(Counter)
        for fate in fates:
            found[fate.program, fate.application][fate.fate, fate.reward, fate.outcome] += 1
        results.append(found)
    assert results[0] == results[1]
