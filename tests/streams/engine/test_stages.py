"""Learning by stages: who acted and whom it helped are heard of by different events at different times."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.agents.choices import Pull, Seen, Stages
from onward.agents.options import Options
from onward.schemas.events import Acted, Application, Erasure, Outcome
from onward.streams.journal.lines import read_entries
from onward.testing.pipeline import START_MS
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, Tape, tape
from onward.tests.support.ledgers import cases
from onward.tests.support.shard_cluster import Cluster, bits

from .test_learner_updates import learner as stored

ACT_MS, KNOWN_MS = 90 * DAY_MS, 400 * DAY_MS
WINDOW = {"acted": "P90D", "outcome": "P400D", "lateness": "PT5M"}
EXPECTED = {**WINDOW, "acting": "reports"}


def story_of(folder: Path, window: dict[str, Any] = EXPECTED, **program: Any) -> Tape:
    folder.mkdir(exist_ok=True)
    policy = {"options": 3, **program.pop("policy", {})}
    story = tape(folder, choice="stages", window=window, policy=policy, **program)
    story.run.clock_ms = lambda: START_MS + 1000 * DAY_MS
    return story


def acted(story: Tape, name: str, ms: int, option: str | None = None, id: str | None = None) -> None:
    story.send("acted", Acted("loan", name, option), ms, id or f"done-{name}")


def outcome(story: Tape, name: str, ms: int, **fields: Any) -> None:
    story.send("outcomes", Outcome("loan", name, **{"result": "improved", **fields}), ms, f"o-{name}")


def learned(ledger: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in stored(ledger)[1].items()}


def taught(ledger: Path, *lessons: tuple[Seen, Sequence[int]], of: str = "x") -> dict[str, bytes]:
    """What a new learner learns of these lessons of a case, each about the options at some places.

    Where there is a case "first", its person has acted before.
    """
    known = {case.key.application: case for case in cases(ledger)}
    one = build_program(choice="stages").learner()
    for name, seen, places in [("first", Seen(True), [0])] * ("first" in known) + [(of, *lesson) for lesson in lessons]:
        case = known[name]
        options = [case.options[place] for place in places]
        one.learn([Pull(case.step, option.arm, option.execution, option.context) for option in options], seen)
    return {name: array.tobytes() for name, array in one.state().items()}


def somebody_acts(story: Tape) -> None:
    """Before anybody was seen to act, silence says nothing."""
    story.applies("first")
    acted(story, "first", 1, "1")


NEW = {name: array.tobytes() for name, array in build_program(choice="stages").learner().state().items()}


def test_that_somebody_acted_is_learned_at_once_and_that_it_helped_later(tmp_path):
    story = story_of(tmp_path)
    story.applies("x")
    acted(story, "x", MINUTE_MS, "2")
    assert learned(ledger := story.fold("early")) == taught(ledger, (Seen(True), [1]))
    assert stored(ledger)[1]["acting"][2] == 1.0
    outcome(story, "x", 300 * DAY_MS, option="2")
    assert learned(ledger := story.fold("late")) == taught(ledger, (Seen(True, True), [1]))
    [fate] = story.rewards()[-1:]
    assert (fate.fate, fate.reward, fate.option, fate.acted) == ("rewarded", 1.0, "2", True)


@pytest.mark.parametrize(
    ("window", "lesson"),
    [
        (EXPECTED, Seen(False)),
        (WINDOW, None),
        ({"time": "P90D", "acting": "reports"}, Seen(False)),
        ({"time": "P90D"}, None),
    ],
)
def test_silence_says_that_nobody_acted_only_where_they_would_have_been_seen(tmp_path, window, lesson):
    story = story_of(tmp_path, window)
    somebody_acts(story)
    story.applies("x")
    story.tick(ACT_MS + 10 * MINUTE_MS)
    ledger = story.fold()
    assert learned(ledger) == (NEW if lesson is None else taught(ledger, (lesson, [0, 1, 2])))
    assert story.fates() == ([("first", "censored"), ("x", "censored")] if "time" in window else [])


def test_silence_says_nothing_before_anybody_was_seen_to_act(tmp_path):
    story = story_of(tmp_path)
    story.applies("x")
    story.tick(ACT_MS + 10 * MINUTE_MS)
    assert learned(story.fold()) == NEW


def test_that_somebody_acted_says_nothing_of_others_where_nobody_else_would_have_been_seen(tmp_path):
    story = story_of(tmp_path, WINDOW)
    story.applies("x")
    acted(story, "x", MINUTE_MS, "2")
    assert learned(story.fold("early")) == NEW
    outcome(story, "x", 300 * DAY_MS, option="2")
    assert learned(ledger := story.fold("late")) == taught(ledger, (Seen(True, True, either_way=False), [1]))


def test_silence_about_an_outcome_teaches_nothing_about_help(tmp_path):
    story = story_of(tmp_path)
    story.applies("x")
    acted(story, "x", MINUTE_MS)
    story.tick(KNOWN_MS + 10 * MINUTE_MS)
    ledger = story.fold()
    assert story.fates() == [("x", "censored")]
    assert story.rewards()[0].acted is True
    assert learned(ledger) == taught(ledger, (Seen(True), [0, 1, 2]))


def test_it_does_not_matter_in_which_order_things_are_heard(tmp_path):
    """Also silence that was taken for no acting does not outlast what is heard after it."""
    found = set[tuple[tuple[str, bytes], ...]]()
    for number, order in enumerate(permutations(["silence", "acted", "outcome"])):
        story = story_of(tmp_path / str(number))
        somebody_acts(story)
        story.applies("x")
        expected = taught(story.fold("early"), (Seen(True, False), [0]))
        for what in order:
            match what:
                case "silence":
                    story.tick(ACT_MS + 10 * MINUTE_MS)
                case "acted":
                    acted(story, "x", 2 * MINUTE_MS, "1")
                case "outcome":
                    outcome(story, "x", 3 * MINUTE_MS, result="not_improved", option="1", acted=True)
        found.add(tuple(sorted(learned(story.fold()).items())))
    assert found == {tuple(sorted(expected.items()))}


def test_who_is_said_not_to_have_acted_says_nothing_about_help(tmp_path):
    story = story_of(tmp_path)
    story.applies("x")
    outcome(story, "x", MINUTE_MS, result="not_improved", acted=False)
    assert learned(ledger := story.fold()) == taught(ledger, (Seen(False), [0, 1, 2]))


def test_an_outcome_after_silence_that_says_nothing_of_acting_is_one_event(tmp_path):
    story = story_of(tmp_path)
    somebody_acts(story)
    story.applies("x")
    story.tick(ACT_MS + 10 * MINUTE_MS)
    outcome(story, "x", ACT_MS + 20 * MINUTE_MS, option="1")
    assert learned(ledger := story.fold()) == taught(ledger, (Seen(None, True), [0]))


@pytest.mark.parametrize("events", ["acted", "silence", "nothing"])
def test_who_is_erased_has_taught_nothing(tmp_path, events):
    story = story_of(tmp_path)
    somebody_acts(story)
    story.applies("x")
    if events == "acted":
        acted(story, "x", MINUTE_MS)
    elif events == "silence":
        story.tick(ACT_MS + 10 * MINUTE_MS)
    story.send("erasures", Erasure("loan", "x"), ACT_MS + 20 * MINUTE_MS, "e")
    ledger = story.fold()
    assert [case.key.application for case in cases(ledger)] == ["first"]
    assert learned(ledger) == taught(ledger)


@pytest.mark.parametrize(
    ("events", "reasons", "fates"),
    [
        (["acted nobody", "tick"], ["acted_without_recourse"], []),
        (["acted x", "acted x again"], ["already_acted"], []),
        (["outcome x", "acted x"], ["already_has_outcome"], ["rewarded"]),
        (["acted x", "outcome x"], [], ["rewarded"]),
        (["acted x option"], ["unknown_option"], []),
        (["acted rich"], ["nothing_offered"], []),
        (["end", "acted x"], ["recourse_closed"], ["censored"]),
        (["acted x late"], ["recourse_closed"], []),
        (["outcome x denied"], ["wrong_type"], []),
        (["outcome x unseen"], ["wrong_type"], []),
    ],
)
def test_what_cannot_be_used_is_a_dead_letter(tmp_path, events, reasons, fates):
    story = story_of(tmp_path)
    story.applies("x")
    story.applies("rich", features={"region": "north", "income": 100.0, "debts": 0})
    for event in events:
        match event.split():
            case ["tick"]:
                story.tick(DAY_MS)
            case ["end"]:
                story.tick(KNOWN_MS + 10 * MINUTE_MS)
            case ["acted", name]:
                acted(story, name, MINUTE_MS)
            case ["acted", name, "again"]:
                acted(story, name, 2 * MINUTE_MS, id="again")
            case ["acted", name, "option"]:
                acted(story, name, MINUTE_MS, "7")
            case ["acted", name, "late"]:
                acted(story, name, KNOWN_MS + 1)
            case ["outcome", name]:
                outcome(story, name, MINUTE_MS)
            case ["outcome", name, "denied"]:
                outcome_json(story, name, b'"improved","acted":false')
            case ["outcome", name, "unseen"]:
                outcome_json(story, name, b'"unseen","acted":true')
    story.fold()
    assert story.reasons() == reasons
    assert [fate for _, fate in story.fates()] == fates


def outcome_json(story: Tape, name: str, rest: bytes) -> None:
    raw = b'{"program":"loan","application":"%s","result":%s}' % (name.encode(), rest)
    record = story.sender.record("outcomes", Outcome("loan", name, "improved"), time_ms=START_MS, id="bad", raw=raw)
    asyncio.run(story.run.ingest([record]))


def test_a_repeat_of_an_acted_event_counts_once(tmp_path):
    story = story_of(tmp_path)
    story.applies("x")
    acted(story, "x", MINUTE_MS)
    acted(story, "x", MINUTE_MS)
    ledger = story.fold()
    assert not story.reasons()
    assert stored(ledger)[1]["acting"][0] == 1.0


def test_an_acted_event_waits_for_its_recourse(tmp_path):
    story = story_of(tmp_path)
    acted(story, "x", 1)
    story.applies("x")
    assert [one.acting.acted for one in cases(story.fold())] == [True]


def test_other_learners_keep_who_acted_and_learn_of_the_outcome_alone(tmp_path):
    story = tape(tmp_path, choice="residual", window={"time": "P90D"})
    story.applies("x")
    acted(story, "x", MINUTE_MS)
    assert not any(np.frombuffer(array).any() for array in learned(story.fold("before")).values())
    outcome(story, "x", 2 * MINUTE_MS)
    assert any(np.frombuffer(array).any() for array in learned(story.fold("after")).values())
    assert story.rewards()[-1].acted is True


def test_restarts_between_stages_change_nothing(tmp_path):
    story = story_of(tmp_path)
    for name in ("x", "y", "z"):
        story.applies(name)
    acted(story, "x", MINUTE_MS, "1")
    story.tick(ACT_MS + 10 * MINUTE_MS)
    assert any(case.acting and not case.acting.is_heard for case in cases(story.fold("silent")))
    acted(story, "y", ACT_MS + 20 * MINUTE_MS)
    outcome(story, "x", ACT_MS + 30 * MINUTE_MS)
    outcome(story, "z", ACT_MS + 30 * MINUTE_MS, option="2")
    story.tick(KNOWN_MS + 10 * MINUTE_MS)
    whole = learned(story.fold("whole"))
    cut = story.fold("cut", [[record] for record in story.journal])
    assert learned(cut) == whole


def test_execution_is_learned_only_when_acting_was_seen():
    random, one = np.random.default_rng(0), build_program(choice="stages").learner()
    assert isinstance(one, Stages)
    points = one.points
    options = Options(points[0], np.arange(len(points)), points, np.arange(len(points)), np.full(len(points), 0.5))
    for step in range(400):
        pick = one.choose(options, lambda: random)
        assert pick is not None
        one.learn([Pull(step, pick.arm, pick.execution, pick.context)], Seen(None, bool(step % 2)))
    assert not one.has_learned_execution
    for step in range(40):
        pick = one.choose(options, lambda: random)
        assert pick is not None
        one.learn([Pull(step, pick.arm, pick.execution, pick.context)], Seen(bool(step % 2)))
    assert one.has_learned_execution


def comes_back(story: Tape, name: str, ms: int, features: dict[str, Any], applicant: str | None = "ann") -> None:
    story.send("applications", Application("loan", f"{name} again", features, applicant, name), ms, f"a2-{name}")


@pytest.mark.parametrize(
    ("further", "applicant", "acted"),
    [(0, "ann", True), (5, "ann", True), (-1, "ann", None), (0, "bob", None), (0, None, None)],
)
def test_who_comes_back_with_what_an_option_asked_for_has_carried_it_out(tmp_path, further, applicant, acted):
    """Nobody is known by the name of an earlier application alone."""
    story = story_of(tmp_path, {**WINDOW, "acting": "returns"}, policy={"generator": "search"})
    story.send("applications", Application("loan", "x", dict(POOR), "ann"), 0, "a-x")
    story.fold("told")
    option = story.answers()[0].options[-1]
    changed = {change.feature: change.target for change in option.changes}
    changed = {name: value + (further if name == "income" else 0) for name, value in changed.items()}
    assert "income" in changed
    comes_back(story, "x", 30 * DAY_MS, {**POOR, **changed}, applicant)
    [case, *_] = cases(story.fold("back"))
    assert (case.acting and case.acting.acted) is acted
    if acted:
        assert case.options[case.acting.option].arm == int(option.candidate)
        outcome(story, "x", 200 * DAY_MS, result="not_improved")
        story.fold("outcome")
        assert [(fate.option, fate.acted) for fate in story.rewards()] == [(option.id, True)]


def test_who_comes_back_in_another_partition_is_seen_too(tmp_path):
    """The record may be read twice, and each partition may be folded again."""
    cluster = Cluster(tmp_path, choice="stages", window={**WINDOW, "acting": "returns"}, policy={"generator": "search"})
    for place in range(2):
        cluster.send("applications", Application("loan", f"x{place}", dict(POOR), "ann"), f"a{place}")
    cluster.settle()
    [first] = [case for place in range(2) for case in cases(cluster.ledger(place)) if case.key.application == "x0"]
    column, value, _ = np.frombuffer(first.options[0].target).reshape(-1, 3).T
    assert len(column) > 0
    assert value.shape == column.shape
    for number in range(20):
        richer = {"region": "north", "income": 100.0, "debts": 0}
        cluster.send(
            "applications", Application("loan", f"back{number}", richer, "ann", f"x{number % 2}"), f"b{number}"
        )
    cluster.settle()
    again = {name: bits(state) for name, state in cluster.learned().items()}
    known = {case.key.application: case for place in range(2) for case in cases(cluster.ledger(place))}
    assert [known[f"x{number}"].acting.acted for number in range(2)] == [True, True]
    returns = [
        line
        for place in range(2)
        for record in cluster.broker.logs["journal", place]
        for line in read_entries(record)
        if line.kind.name == "return"
    ]
    assert len(returns) >= 5
    cluster.settle("again", restarts=True)
    assert {name: bits(state) for name, state in cluster.learned("again").items()} == again
