"""The laws of delivery, for random stories of a program with rounds."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from onward.schemas.events import NoRecourse, Recourse
from onward.streams.engine.contract import WorkBudget
from onward.streams.engine.rounds.closing import CLOSING
from onward.testing.ledger import dump
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import MINUTE_MS
from onward.tests.streams.engine.rounds.stories import (
    HOUR_MS,
    LINE,
    Story,
    announcement,
    as_a_large_model,
    learned,
    story,
)
from onward.tests.support.goal_policies import untrained

PEOPLE, HOURS = 40, 8
SEEDS = range(3)


def told(tmp_path, seed, score=LINE, program=None) -> Story:
    """People who apply in eight hours; some come back, some of them with what they were told to reach."""
    random = np.random.default_rng(seed)
    if program is None:
        tape = story(tmp_path, horizon=2, places=3, score=score)
    else:
        tape = Story(PipelineRun({"loan": program}, tmp_path))
    now_ms, names = 0, []
    for number in range(PEOPLE):
        now_ms += int(random.integers(0, 2 * HOURS * HOUR_MS // PEOPLE))
        at_ms = max(0, now_ms - int(random.integers(0, 6 * MINUTE_MS)))
        previous = str(random.choice(names)) if names and random.random() < 0.4 else None
        applicant = f"person {random.integers(0, 20)}" if random.random() < 0.5 else None
        tape.applies_with(f"a{number}", at_ms, float(random.integers(10, 80)), applicant, previous)
        names.append(f"a{number}")
        if random.random() < 0.2:
            tape.outcome(str(random.choice(names)), at_ms, id=f"o{number}")
        if random.random() < 0.1:
            ends = now_ms // HOUR_MS + 1
            tape.send("rounds", announcement(ends, int(random.integers(0, 6))), now_ms, f"r{number}")
        if random.random() < 0.3:
            tape.tick(now_ms)
    tape.tick(2 * HOURS * HOUR_MS + 20 * HOUR_MS)
    tape.tick(2 * HOURS * HOUR_MS + 20 * HOUR_MS + 1)
    return tape


@pytest.mark.parametrize("seed", SEEDS)
def test_each_application_has_one_decision_and_each_rejected_one_answer(tmp_path, seed):
    tape = told(tmp_path, seed)
    tape.fold()
    places = tape.places()
    assert len(places) == PEOPLE
    answers = Counter(answer.application for answer in tape.answers())
    assert answers == Counter(name for name, approved in places.items() if not approved)
    for closed in tape.thresholds():
        assert closed.accepted <= closed.places
    assert all(later.round > earlier.round for earlier, later in pairwise(tape.thresholds()))


def test_each_promise_ends_once(tmp_path):
    ends = set[str]()
    for seed in SEEDS:
        tape = told(tmp_path / str(seed), seed)
        tape.fold()
        promised = {answer.application for answer in tape.answers() if _promises(answer)}
        assert set(tape.promises()) == promised
        ends |= set(tape.promises().values())
    assert {"kept", "expired"} <= ends


def _promises(answer: Recourse | NoRecourse) -> bool:
    return isinstance(answer, Recourse) or answer.reason == "apply_again"


@pytest.mark.parametrize(
    ("seed", "units", "score", "program"),
    [
        (0, 1000, LINE, None),
        (1, 2, LINE, None),
        (0, 1000, as_a_large_model, None),
        (2, 20, LINE, learned(untrained(3), horizon=2, places=3, offset=True)),
    ],
)
def test_a_restart_after_every_record_changes_nothing(tmp_path, seed, units, score, program, monkeypatch):
    monkeypatch.setattr(CLOSING, "budget", WorkBudget(tick=units, other=1))
    whole, cut = (told(tmp_path / name, seed, score, program) for name in ("whole", "cut"))
    story_ends = len(cut.journal)
    _finish(whole, units), _finish(cut, units)
    expected = dump(whole.fold())
    assert len(whole.places()) == PEOPLE
    cuts = [*range(story_ends), *range(story_ends, len(cut.journal), 40), len(cut.journal)]
    found = dump(cut.fold(parts=[cut.journal[start:end] for start, end in pairwise(cuts)]))
    assert cut.run.outputs() == whole.run.outputs()
    assert found == expected


def _finish(tape: Story, units: int = 1000) -> None:
    """Let so many ticks pass that rounds are closed in pieces of so many units: of single ones they take 800."""
    for number in range(1000 // units + 100):
        tape.tick(100 * HOUR_MS + number)


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_of_any_size_give_the_same_answers(tmp_path, seed, monkeypatch):
    found = []
    for units in (1000, 7, 1):
        monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=units))
        tape = told(tmp_path / str(units), seed)
        _finish(tape, units)
        tape.fold()
        found.append((tape.places(), tape.promises(), tape.thresholds(), tape.answers()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_in_which_topics_are_read_changes_no_place_and_no_promise(tmp_path, seed):
    first, second = told(tmp_path / "first", seed), story(tmp_path / "second", horizon=2, places=3)
    records = {topic: [record for record in first.sent if record.topic == topic] for topic in first.run.topics.inputs}
    random = np.random.default_rng(seed)
    left = {topic: list(of_topic) for topic, of_topic in records.items() if of_topic}
    while left:
        topic = str(random.choice(sorted(left)))
        asyncio.run(second.run.ingest([left[topic].pop(0)]))
        if not left[topic]:
            del left[topic]
    for tape in (first, second):
        _finish(tape)
        tape.fold()
    assert second.places() == first.places()
    assert second.promises() == first.promises()
