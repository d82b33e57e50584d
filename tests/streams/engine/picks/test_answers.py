"""Answers: what people would take is learned of their population, once a person, whatever comes when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.agents.costs import Preferences
from onward.agents.costs.preferences import prior_shares
from onward.agents.evidence import rounded
from onward.schemas.events import DeadLetter, NoRecourse, Recourse
from onward.streams.engine.assessment import propose
from onward.streams.engine.picks.population import PickedPopulation
from onward.streams.engine.state import CurrentModel
from onward.streams.ledger.array_codec import record_decoder
from onward.streams.programs.program import Program
from onward.testing.ledger import dump, rows
from onward.testing.pipeline import without_generation
from onward.testing.program import FEATURES, build_program
from onward.testing.tape import MINUTE_MS, RICH, TIMED, Tape, tape
from onward.tests.streams.engine.promises import stories
from onward.tests.support.changed_specs import announce, feature
from onward.tests.support.ledgers import cases

SETS: Mapping[str, Any] = {
    "policy": {"generator": "search", "choice": "emc", "cost": "mixed", "options": 3, "samples": 60, "satisfied": 0.1},
    "choice": "emc",
    **TIMED,
}
FORGETTING: Mapping[str, Any] = {**SETS, "policy": {**SETS["policy"], "cost_parameters": {"memory": 50}}}
MIDDLING = {"region": "north", "income": 60.0, "debts": 4}
NOTHING = {"editable": [0.0] * 3, "seen": [0.0] * 3}


def counts(ledger: Path) -> dict[str, list[float]]:
    """What is learned of the people of the only shard."""
    stored = rows(ledger, "SELECT body FROM populations")
    if not stored:
        return NOTHING
    [(body,)] = stored
    population: PickedPopulation = record_decoder(PickedPopulation)(body)
    return {name: array.tolist() for name, array in population.counts.items()}


def lessons(program: Program, recourse: Recourse, features: Mapping[str, Any] = MIDDLING) -> list[np.ndarray]:
    """What each pick of a recourse before any other teaches, and last what none does: (2, F) each."""
    batch = propose(program, CurrentModel.from_bundle(program, program.bundle), program.codec.encode_many([features]))
    arms = [int(option.candidate) for option in recourse.options]
    assert batch.samples is not None
    chosen = np.array([int(batch.arm.searchsorted(arm)) for arm in arms])
    served = batch.samples.subset(chosen).served(program.satisfied)
    assert [option.suits for option in recourse.options] == served.suits.tolist()
    assert recourse.satisfied == served.satisfied
    return [rounded(np.stack(lesson)) for lesson in served.lessons]


def one(folder: Path, program: Mapping[str, Any] = SETS) -> Tape:
    """A story in which somebody has a recourse."""
    story = tape(folder, **program)
    story.applies("x", features=MIDDLING)
    return story


def test_an_answer_teaches_what_its_pick_says_of_the_person(tmp_path):
    story = one(tmp_path)
    story.says("x", MINUTE_MS, "2")
    ledger = story.fold()
    [recourse] = story.answers()
    assert len(recourse.options) > 1
    program = story.run.programs["loan"]
    editable, seen = lessons(program, recourse)[1]
    assert counts(ledger) == {"editable": editable.tolist(), "seen": seen.tolist()}
    assert story.reasons() == []


@pytest.mark.parametrize("option", ["1", "2", None])
def test_what_was_learned_changes_who_the_next_options_are_for(tmp_path, option):
    story = one(tmp_path)
    for number in range(30):
        story.applies(f"p{number}", number, MIDDLING)
        story.says(f"p{number}", number, option)
    story.applies("last", 31, MIDDLING)
    ledger = story.fold()
    before, *_, after = story.answers()
    assert (before.execution_source, after.execution_source) == ("assumed", "learned")
    program = story.run.programs["loan"]
    believed = Preferences(prior_shares(program.cost.columns.movable))
    believed.restore({name: np.array(found) for name, found in counts(ledger).items()})
    batch = propose(program, CurrentModel.from_bundle(program, program.bundle), program.codec.encode_many([MIDDLING]))
    samples = batch.with_preferences(believed).samples
    chosen = np.array([int(batch.arm.searchsorted(int(option.candidate))) for option in after.options])
    own = samples.subset(chosen)
    assert [each.cost for each in after.options] == pytest.approx(samples.cost.mean(own.costs).tolist())
    assert [each.execution_probability for each in after.options] == pytest.approx(own.execution.mean(axis=1).tolist())
    assert [each.learned_execution_probability for each in after.options] == pytest.approx(
        [each.execution_probability for each in after.options]
    )
    assert [each.suits for each in after.options] == own.served(program.satisfied).suits.tolist()
    assert after.satisfied != before.satisfied
    assert option is not None or after.satisfied < before.satisfied


def test_the_same_answer_again_teaches_nothing_and_another_one_takes_its_place(tmp_path):
    story = one(tmp_path)
    first = story.says("x", MINUTE_MS, "1")
    story.says("x", 2 * MINUTE_MS, "1")
    story.says("x", 3 * MINUTE_MS, None)
    story.again(first)
    ledger = story.fold()
    [recourse] = story.answers()
    editable, seen = lessons(story.run.programs["loan"], recourse)[-1]
    assert counts(ledger) == {"editable": editable.tolist(), "seen": seen.tolist()}
    assert story.reasons() == []


def test_a_person_whose_answer_changes_is_counted_once(tmp_path):
    story = one(tmp_path)
    story.says("x", MINUTE_MS, "1")
    story.says("x", 2 * MINUTE_MS, None)
    story.says("x", 3 * MINUTE_MS, "2")
    story.applies("y", 0, MIDDLING)
    story.says("y", MINUTE_MS, "2")
    story.outcome("y", 2 * MINUTE_MS, option="1")
    story.fold()
    counted = {
        sample.labels["place"]: sample.value
        for metric in story.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "onward_picks_total"
    }
    assert counted == {"1": 1.0, "2": 1.0}


def test_what_is_forgotten_cannot_be_taken_back(tmp_path):
    story = one(tmp_path, FORGETTING)
    story.says("x", MINUTE_MS, "1")
    story.says("x", 2 * MINUTE_MS, "2")
    ledger = story.fold()
    [recourse] = story.answers()
    editable, _ = lessons(story.run.programs["loan"], recourse)[0]
    assert counts(ledger)["editable"] == editable.tolist()
    assert story.reasons() == ["answer_changed"]


@pytest.mark.parametrize(
    ("features", "ms", "option", "reason"),
    [
        (MIDDLING, MINUTE_MS, "9", "unknown_option"),
        (MIDDLING, MINUTE_MS, "01", "unknown_option"),
        (RICH, MINUTE_MS, None, "nothing_offered"),
        (MIDDLING, 30 * MINUTE_MS + 1, "1", "recourse_closed"),
        (MIDDLING, -5 * MINUTE_MS - 1, "1", "answer_without_recourse"),
    ],
)
def test_an_answer_that_says_nothing_is_a_dead_letter_and_teaches_nothing(tmp_path, features, ms, option, reason):
    story = tape(tmp_path, **SETS)
    story.applies("x", features=features)
    said = story.says("x", ms, option)
    story.again(said)
    ledger = story.fold()
    assert story.reasons() == [reason]
    assert counts(ledger) == NOTHING


def test_a_person_without_an_option_and_one_who_never_applied_are_told_apart(tmp_path):
    fixed = [{**feature, "mutable": "none"} for feature in FEATURES]
    story = tape(tmp_path, **SETS, features=fixed)
    story.applies("stuck", features=MIDDLING)
    story.says("stuck", MINUTE_MS, "1")
    story.says("nobody", MINUTE_MS, "1")
    story.tick(12 * MINUTE_MS)
    story.fold()
    assert [type(answer) for answer in story.answers()] == [NoRecourse]
    letters = story.run.events("dead-letters", DeadLetter)
    assert {json.loads(letter.value)["application"]: letter.reason for letter in letters} == {
        "stuck": "nothing_offered",
        "nobody": "answer_without_recourse",
    }


def test_an_answer_waits_for_its_recourse(tmp_path):
    story = tape(tmp_path, **SETS)
    story.says("x", MINUTE_MS, "1")
    story.outcome("x", MINUTE_MS, option="2")
    story.applies("x", features=MIDDLING)
    ledger = story.fold()
    [recourse] = story.answers()
    editable, _ = lessons(story.run.programs["loan"], recourse)[0]
    assert counts(ledger)["editable"] == editable.tolist()
    assert story.fates() == [("x", "rewarded")]


def test_lessons_go_when_the_window_closes(tmp_path):
    story = one(tmp_path)
    story.says("x", MINUTE_MS, "1")
    [case] = cases(story.fold("open"))
    assert len(case.picked.lessons) == 4 * 2 * 3 * (len(case.options) + 1)
    story.tick(36 * MINUTE_MS)
    story.says("x", 2 * MINUTE_MS, "2")
    story.says("x", 2 * MINUTE_MS, "1")
    [case] = cases(story.fold("closed"))
    assert (case.picked.lessons, case.picked.place) == (b"", 0)
    assert story.reasons() == ["recourse_closed"]


def test_who_has_said_what_they_would_take_is_credited_with_it(tmp_path):
    story = one(tmp_path)
    story.says("x", MINUTE_MS, "2")
    story.tick(36 * MINUTE_MS)
    story.fold()
    [reward] = story.rewards()
    assert (reward.fate, reward.option) == ("censored", "2")


@pytest.mark.parametrize("cost", ["l1", "mixed"])
def test_a_known_cost_learns_nothing_and_its_recourse_says_nothing_of_samples(tmp_path, cost):
    policy = {"generator": "search", "choice": "emc", "cost": cost, "options": 3}
    story = tape(tmp_path, policy=policy, choice="emc", **TIMED)
    story.applies("x", features=MIDDLING)
    story.says("x", MINUTE_MS, "2")
    ledger = story.fold()
    [recourse] = story.answers()
    assert ("satisfied" in recourse.to_dict()) == (cost == "mixed")
    assert ("suits" in recourse.to_dict()["options"][0]) == (cost == "mixed")
    assert (counts(ledger) == NOTHING) == (cost == "l1")
    assert story.reasons() == []


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["answer", "answer", "answer", "outcome"]),
        st.sampled_from("abc"),
        st.sampled_from(["1", "2", None]),
    ),
    max_size=12,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story_of=EVENTS, cut=st.integers(0, 20))
def test_the_last_answer_of_each_person_counts_whatever_comes_when(tmp_path_factory, story_of, cut):
    story = tape(tmp_path_factory.mktemp("answers"), **SETS)
    said: dict[str, int] = {}
    closed: set[str] = set()
    for name in "abc":
        story.applies(name, features=MIDDLING)
    for number, (kind, name, option) in enumerate(story_of):
        if kind == "answer":
            story.says(name, MINUTE_MS + number, option)
        else:
            story.outcome(name, MINUTE_MS + number, "not_improved", id=f"o-{number}", option=option)
        if name not in closed and (kind == "answer" or (option is not None and name not in said)):
            said[name] = -1 if option is None else int(option) - 1
        if kind == "outcome":
            closed.add(name)
    ledger = story.fold()
    program = story.run.programs["loan"]
    expected = np.zeros((2, 3))
    # All applied before anybody answered, so that the options of all are the same.
    for answer in story.answers():
        if answer.application in said:
            expected += lessons(program, answer)[said[answer.application]]
    found = counts(ledger)
    assert np.array([found["editable"], found["seen"]]).tolist() == expected.tolist()
    journal = story.journal
    again = story.fold("again", [part for part in (journal[:cut], journal[cut:]) if part])
    assert without_generation(dump(again)) == without_generation(dump(ledger))


def test_the_pick_of_a_revised_option_teaches_nothing(tmp_path, monkeypatch):
    """A model breaks the second option, for which another stands that changes other features; the first one holds."""
    monkeypatch.setattr(stories, "WEIGHTS", np.array([0.0, 1.0, 6.0, -6.0]))
    learned = {}
    for place in ("1", "2"):
        own = build_program(
            **{**SETS, "policy": {**SETS["policy"], "options": 2}},
            promise=stories.PROMISE,
            model=cast(Any, SimpleNamespace(score=stories.score_of(stories.BIAS, linear=True))),
            features=stories.FEATURES,
        )
        tale = stories.story(tmp_path / place, monkeypatch, own, {"v4": -1.2})
        tale.applies_with("a", 0, income=80.0, debts=8)
        announce(tale, feature("region", mutable="any"), 0)
        announce(tale, feature("debts", mutable="none"), 0)
        tale.new_model("v4", 0)
        tale.says("a", MINUTE_MS, place)
        learned[place] = counts(tale.fold())
        first = {option.id: option.candidate for option in tale.recourses()["a"].options}
        [revised] = tale.revisions()
        moved = {option.id for option in revised.options if option.candidate != first[option.id]}
        assert (moved, tale.reasons()) == ({"2"}, [])
    assert learned["1"] != NOTHING
    assert learned["2"] == NOTHING
