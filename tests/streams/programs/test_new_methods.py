"""A program made of the methods of docs/examples/methods, one of each room."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from onward.agents import improvement
from onward.schemas.events import NoRecourse, Recourse
from onward.schemas.headers import format_time
from onward.schemas.specfile import SpecError
from onward.streams.programs.assembly import assemble
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.policy_version import policy_version
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.testing.pipeline import START_MS
from onward.testing.tape import RICH, tape
from onward.tests.support.example_methods import example_methods
from onward.tests.support.loans import reviewed_spec, write_loans

POLICY = {
    "generator": "one_feature",
    "goal": "margin",
    "choice": "fewest_changes",
    "cost": "feature_count",
    "options": 2,
}
PROMISE = {"kind": "distance", "parameters": {"least": 0.5}}
MODEL = cast(Any, SimpleNamespace(score=LogisticScore(np.array([0.0, 0.0, 8.0, -4.0]), -4.0)))
WEEK_MS = 7 * 24 * 60 * 60 * 1000
POOR = {"region": "north", "income": 45.0, "debts": 2}


@pytest.fixture(scope="module", autouse=True)
def methods():
    with example_methods():
        yield


@pytest.fixture
def story(tmp_path):
    return tape(tmp_path, policy=POLICY, promise=PROMISE, model=MODEL)


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
    assert recourse.options[0].promise == {"distance": pytest.approx(8.0 - 4.0 * 0.2 - 4.0)}
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


def test_the_parameters_of_its_generator_and_its_goal_count(tmp_path):
    """45 kEUR are 55 from the end of the range, where the score is 0.94 when the log odds have fallen by 0.5."""
    for parameters, kind in (
        ({"generator_parameters": {"most": 0.56}}, Recourse),
        ({"generator_parameters": {"most": 0.54}}, NoRecourse),
        ({"goal_parameters": {"share": 0.86}}, Recourse),
        ({"goal_parameters": {"share": 0.89}}, NoRecourse),
    ):
        story = tape(tmp_path / str(parameters), policy={**POLICY, **parameters}, promise=PROMISE, model=MODEL)
        story.applies("p0", features=POOR)
        [answer] = answers(story)
        assert isinstance(answer, kind), parameters


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("generator_parameters: {most: 2}", "most: most is 2.0: one_feature needs a number above 0 and at most 1"),
        ("generator_parameters: {least: 2}", "least: one_feature has no parameter 'least': it takes most"),
        ("goal_parameters: {share: 1}", "share: share is 1.0: margin needs a number at least 0 and below 1"),
        ("goal_parameters: {part: 1}", "part: margin has no parameter 'part': it takes share"),
    ],
)
def test_the_check_knows_the_parameters(tmp_path, parameters, problem):
    with pytest.raises(SpecError, match=rf"policy\.{parameters.partition(':')[0]}\.{problem}"):
        load_program_spec(spec(tmp_path, f"{{generator: one_feature, goal: margin, {parameters}}}"))


def test_other_parameters_are_another_policy_and_defaults_go_without_saying(tmp_path):
    specs = {
        given: load_program_spec(spec(tmp_path, f"{{generator: one_feature, goal: margin{given}}}"))
        for given in (
            "",
            ", generator_parameters: {most: 1}, goal_parameters: {share: 0.1}",
            ", generator_parameters: {most: 0.5}",
            ", goal_parameters: {share: 0.3}",
            ", objective: cost",
            ", objective: cost, generator_parameters: {most: 0.5}",
        )
    }
    plain, default, *others = specs.values()
    assert plain.sha256 == default.sha256
    versions = [policy_version(loaded.spec, 1.0, "first", 0) for loaded in (plain, *others)]
    assert len(set(versions)) == len(versions)


def test_training_fits_the_improvement_that_the_spec_names(tmp_path):
    write_loans(tmp_path / "loans.csv")
    plain = load_program_spec(spec(tmp_path, "{improvement: label_prior}"))
    assert plain.sha256 == load_program_spec(spec(tmp_path, "{options: 3}")).sha256
    named = load_program_spec(spec(tmp_path, "{improvement: one_regression}"))
    assert named.sha256 != plain.sha256
    assert len({policy_version(loaded.spec, 1.0, "first", 0) for loaded in (plain, named)}) == 2
    train(tmp_path / "loans.csv", named, tmp_path / "model", estimator="logistic_regression", seed=0)
    bundle = assemble(named).bundle
    assert bundle.manifest.improvement.method == "one_regression"
    assert type(bundle.improvement) is improvement.registry["one_regression"]
    with pytest.raises(
        SpecError, match=r"policy\.improvement: there is no improvement 'oracle': use one of label_prior"
    ):
        load_program_spec(spec(tmp_path, "{improvement: oracle}"))


def spec(folder, policy):
    path = folder / "spec.yaml"
    path.write_text(re.sub(r"^policy: .*", f"policy: {policy}", reviewed_spec(), flags=re.MULTILINE))
    return path
