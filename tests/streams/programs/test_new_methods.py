"""A program made of the methods of docs/examples/methods: a generator, a goal, a choice, a cost and a promise."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from onward.schemas.events import NoRecourse, Recourse
from onward.schemas.headers import format_time
from onward.streams.programs.spec_check import ROOMS
from onward.tests.support.pipeline import START_MS
from onward.tests.support.tape import RICH, tape

METHODS = Path(__file__).parents[3] / "docs" / "examples" / "methods"
POLICY = {
    "generator": "one_feature",
    "goal": "margin",
    "choice": "fewest_changes",
    "cost": "feature_count",
    "options": 2,
}
PROMISE = {"kind": "distance"}
WEEK_MS = 7 * 24 * 60 * 60 * 1000
POOR = {"region": "north", "income": 45.0, "debts": 2}


@pytest.fixture(scope="module", autouse=True)
def methods():
    for file in sorted(METHODS.glob("*.py")):
        spec = spec_from_file_location(f"methods.{file.stem}", file)
        spec.loader.exec_module(module_from_spec(spec))
    yield
    for (part, field), registry in ROOMS.items():
        registry.discard({"policy": POLICY, "promise": PROMISE}[part][field])


@pytest.fixture
def story(tmp_path):
    return tape(tmp_path, policy=POLICY, promise=PROMISE)


def answers(story):
    story.fold()
    return story.answers()


def test_a_rejected_person_gets_the_options_of_the_generator(story):
    story.applies("p0", features=POOR)
    [recourse] = answers(story)
    assert isinstance(recourse, Recourse)
    assert [[change.feature for change in option.changes] for option in recourse.options] == [["income"]]
    assert [option.cost for option in recourse.options] == [1.0]


def test_options_have_ids_and_propensities_and_several_fit_into_a_recourse(story):
    story.applies("p0", features={**POOR, "income": 60.0, "debts": 3})
    [recourse] = answers(story)
    assert [option.id for option in recourse.options] == ["1", "2"]
    assert [option.candidate for option in recourse.options] == ["0", "1"]
    assert all(option.propensity == 1.0 for option in recourse.options)


def test_the_promise_and_the_end_of_the_goal_stand_in_the_recourse(story):
    story.applies("p0", features=POOR)
    [recourse] = answers(story)
    assert recourse.options[0].promise == {"score": 0.9, "distance": 0.4}
    assert recourse.expires_at == format_time(START_MS + WEEK_MS)


def test_a_person_without_an_option_learns_the_reason_of_the_generator(story):
    story.applies("p0", features={"region": "north", "income": 0.0, "debts": 10})
    story.applies("rich", features=RICH)
    [none] = answers(story)
    assert isinstance(none, NoRecourse)
    assert none.reason == "no_single_change"


def test_the_outcome_names_the_option_that_was_taken(story):
    story.applies("p0", features={**POOR, "income": 60.0, "debts": 3})
    story.outcome("p0", 1, option="2")
    story.outcome("p0", 2, option="3", id="o-3")
    story.fold()
    [reward] = story.rewards()
    assert (reward.fate, reward.option, reward.candidate) == ("rewarded", "2", "1")
    assert story.reasons() == ["unknown_option"]
