"""What is suggested without Kafka is what a worker with a fresh learner publishes."""

import msgspec
import numpy as np
import pytest

from onward.streams.errors import ModelError, UsageError
from onward.streams.replay import suggestions
from onward.streams.replay.suggestions import suggest
from onward.testing.pipeline import START_MS
from onward.testing.program import FEATURES, IncomeModel, build_program
from onward.testing.tape import tape
from onward.tests.streams.engine.rounds.stories import limited

PEOPLE = {
    f"p{number}": {"region": "north" if number % 3 else "south", "income": 7.0 * number % 100, "debts": number % 10}
    for number in range(60)
}
POLICIES = [{}, {"generator": "search"}, {"generator": "search", "choice": "protoar", "options": 3}]


@pytest.mark.parametrize("decisions", ["model", "external"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_answers_are_those_of_a_worker(tmp_path, monkeypatch, policy, decisions):
    monkeypatch.setattr(suggestions, "PORTION_PEOPLE", 7)
    program = build_program(decisions=decisions, policy=policy)
    answers = list(suggest(program, PEOPLE, START_MS))
    assert 10 < len(answers) < len(PEOPLE)
    for answer in answers[::7]:
        story = tape(tmp_path / answer.application, decisions=decisions, policy=policy)
        story.applies(answer.application, features=PEOPLE[answer.application])
        if decisions == "external":
            story.decides(answer.application, 0)
        story.fold()
        assert msgspec.json.encode([answer]) == msgspec.json.encode(story.answers())


@pytest.mark.parametrize("choice", ["linucb", "posterior"])
def test_a_person_s_answer_does_not_depend_on_the_others(choice):
    program = build_program(policy={"generator": "search", "choice": choice, "options": 3})
    one, other = (
        {answer.application: answer for answer in suggest(program, dict(people), START_MS)}
        for people in (PEOPLE.items(), reversed(PEOPLE.items()))
    )
    assert one == other


def test_people_who_compete_for_places_are_not_answered_alone():
    with pytest.raises(UsageError, match=r"'loan' has limited places \(goal: capacity\).*goal: threshold, margin: 0"):
        suggest(limited(), {}, START_MS)
    alone = limited(goal="threshold")
    assert list(suggest(alone, PEOPLE, START_MS))


def test_people_get_different_options_the_cheapest_first():
    program = build_program(policy={"generator": "search", "choice": "protoar", "options": 3})
    answers = list(suggest(program, PEOPLE, START_MS))
    assert {len(answer.options) for answer in answers} == {1, 2}
    for answer in answers:
        sets = [tuple(change.feature for change in option.changes) for option in answer.options]
        assert len(set(sets)) == len(sets)
        assert [option.cost for option in answer.options] == sorted(option.cost for option in answer.options)


@pytest.mark.parametrize("given", [{"region": "north", "debts": 3}, {"region": "north", "income": None, "debts": 3}])
def test_a_recourse_marks_a_change_from_the_value_that_stands_for_a_missing_one(given):
    features = [{**feature, "missing": 20} if feature["name"] == "income" else feature for feature in FEATURES]
    program = build_program(features=features, policy={"generator": "search", "choice": "protoar"})
    [answer] = suggest(program, {"ada": given}, START_MS)
    [whole] = suggest(program, {"ada": {**given, "income": 20}}, START_MS)
    [change] = answer.options[0].changes
    assert (change.feature, change.current, change.current_given) == ("income", 20, False)
    answered, expected = answer.to_dict(), whole.to_dict()
    for option in answered["options"]:
        for changed in option["changes"]:
            assert changed.pop("current_given", None) == (False if changed["feature"] == "income" else None)
    assert answered == expected


@pytest.mark.parametrize("decisions", ["model", "external"])
@pytest.mark.parametrize("generator", ["instances", "search", "adapted"])
def test_who_cannot_be_scored_is_a_dead_letter_and_nobody_is_sent_there(tmp_path, monkeypatch, decisions, generator):
    whole = IncomeModel.score
    monkeypatch.setattr(IncomeModel, "score", lambda self, X: np.where(X[:, 2] == 0.7, np.nan, whole(self, X)))
    policy = {"generator": generator}
    story = tape(tmp_path, decisions=decisions, policy=policy)
    for name, income in (("unscored", 70.0), ("good", 10.0)):
        story.applies(name, features={"region": "north", "income": income, "debts": 4})
        if decisions == "external":
            story.decides(name, 0)
    story.fold()
    assert story.reasons() == ["no_score"]
    assert [answer.application for answer in story.answers()] == ["good"]
    with pytest.raises(ModelError, match="unscored: the model cannot score these features"):
        list(
            suggest(build_program(policy=policy), {"unscored": {"region": "north", "income": 70, "debts": 4}}, START_MS)
        )
