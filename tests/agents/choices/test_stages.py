"""Stages: what each stage teaches, what is taken back, and whose lesson it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.choices import Pick, Pull, Seen, Stages
from onward.agents.options import Options, Outlook
from onward.agents.sigmoid import sigmoid

FEATURES = 3
ARMS = np.eye(FEATURES)
STAGES = ((True, None), (False, None), (True, True), (True, False), (None, True), (None, False))
EVERYTHING = [Seen(acted, helped, either_way) for acted, helped in STAGES for either_way in (True, False)]


def learner(**parameters: float) -> Stages:
    made = Stages(ARMS, window=10, **{"arm_sd": 0.0, **parameters})
    made.equip(features=FEATURES)
    return made


def options(log_odds: Sequence[float], effort: Sequence[float] = (0.2, 0.2, 0.2)) -> Options:
    """An option for each feature: it alone changes, and without it the odds are e^-2."""
    each, efforts = np.arange(FEATURES), np.diag(effort)
    effects = np.diag(np.array(log_odds) + 2.0)
    execution = np.exp(-efforts.sum(axis=1))
    return Options(np.zeros(FEATURES), each, ARMS, each, execution, Outlook(np.array(log_odds), effects, efforts))


def pulls(choice: Stages, seen: Options, most: int = 1) -> list[Pull]:
    picks = choice.select(seen, most, lambda: np.random.default_rng(0), every=True)
    return [Pull(0, pick.arm, pick.execution, pick.context) for pick in picks]


def frozen(choice: Stages) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in choice.state().items()}


lessons = st.lists(st.tuples(st.sampled_from(EVERYTHING), st.integers(1, 3)), max_size=8)


@settings(max_examples=50, deadline=None)
@given(lessons, st.sampled_from(EVERYTHING), st.integers(1, 3), st.integers(0, 8))
def test_what_is_taken_back_leaves_no_bit(before: list[tuple[Seen, int]], wrong: Seen, most: int, at: int) -> None:
    one, other = learner(arm_sd=0.5), learner(arm_sd=0.5)
    told = {number: pulls(one, options([0.5, 1.0, 1.5]), number) for number in (1, 2, 3)}
    for number, (seen, of) in enumerate([*before, (Seen(), 1)]):
        if number == min(at, len(before)):
            other.learn(told[most], wrong)
        one.learn(told[of], seen)
        other.learn(told[of], seen)
    other.learn(told[most], wrong, -1)
    assert frozen(one) == frozen(other)


def test_each_stage_teaches_its_own_half() -> None:
    acting, helping = learner(), learner()
    for _ in range(20):
        acting.learn(pulls(acting, options([1.0, 1.0, 1.0])), Seen(False))
        helping.learn(pulls(helping, options([1.0, 1.0, 1.0])), Seen(True, False, either_way=False))
    assert not acting.omega.any()
    assert acting.difficulty.min() > 1.0
    assert helping.omega.max() > 0.1
    assert (helping.difficulty == 1.0).all()
    assert not helping.has_seen_acting


def test_nothing_is_learned_of_nothing_seen_and_of_a_pull_of_another_learner() -> None:
    choice = learner()
    before, own = frozen(choice), pulls(choice, options([1.0, 1.0, 1.0]))
    choice.learn(own, Seen())
    choice.learn([Pull(3, 1, 0.5)], Seen(True, True))
    choice.learn([], Seen(True, True))
    assert frozen(choice) == before
    with pytest.raises(ValueError, match="a context of 8 bytes is not of a stages of 3 features"):
        choice.learn([Pull(0, 0, 0.5, bytes(8))], Seen(True))


@pytest.mark.parametrize("helped", [True, False])
def test_an_outcome_that_says_nothing_of_acting_is_a_reward(helped: bool) -> None:
    one, other = learner(), learner()
    [own] = pulls(one, options([0.5, 1.0, 1.5]))
    one.learn([own], Seen(None, helped))
    other.update(own, float(helped))
    assert frozen(one) == frozen(other)


@pytest.mark.parametrize("seen", [Seen(True), Seen(False), Seen(True, True), Seen(True, False)])
def test_a_lesson_of_several_options_is_one_lesson(seen: Seen) -> None:
    choice = learner()
    choice.learn(pulls(choice, options([0.5, 1.0, 1.5], (0.1, 0.5, 2.0)), 3), seen)
    known, _, acted = choice.acting
    assert (known, acted) == (1, int(bool(seen.acted)))


def test_who_acted_has_most_probably_done_what_is_easy_and_who_was_helped_what_helps() -> None:
    choice = learner()
    told = pulls(choice, options([-1.0, 1.0, 1.0], (0.1, 0.1, 1.5)), 3)
    share = {one.arm: own for one, own in zip(told, choice._shares(told, Seen(True)), strict=True)}
    assert share[0] == pytest.approx(share[1])
    assert share[2] < 0.1
    helped = {one.arm: own for one, own in zip(told, choice._shares(told, Seen(True, True)), strict=True)}
    assert helped[1] > 2.0 * helped[0]


@pytest.mark.parametrize(("harder", "reported"), [(0.5, 1.0), (3.0, 1.0), (3.0, 0.1)])
def test_what_is_stated_of_acting_becomes_true_however_many_outcomes_are_silent(harder: float, reported: float) -> None:
    """One fixed seed. Half of a feature's effect is not there, and three tenths never act."""
    choice, random, stated, acted = learner(), np.random.default_rng(5), [], []
    for step in range(900):
        effort = random.uniform(0.05, 0.6)
        seen = options(random.uniform(0.5, 3.0, FEATURES), (effort,) * FEATURES)
        [own] = pulls(choice, seen)
        acts = bool(random.random() < 0.7 * np.exp(-harder * effort))
        helps = bool(random.random() < sigmoid(np.array([1.0]))[0])
        if step >= 450:
            stated.append(own.execution)
            acted.append(0.7 * np.exp(-harder * effort))
        choice.learn([own], Seen(acts, helps if acts and random.random() < reported else None))
    assert abs(np.mean(stated) - np.mean(acted)) < 0.05
    assert choice.has_learned_execution


def test_what_was_expected_is_that_of_the_last_stage_seen() -> None:
    choice = learner()
    [own] = pulls(choice, options([1.0, -3.0, -3.0]))
    execution, helps = np.exp(-0.2), sigmoid(np.array([1.0]))[0]
    assert choice.expected_of(own, Seen(False)) == pytest.approx((execution, 0.0))
    assert choice.expected_of(own, Seen(True, True)) == pytest.approx((helps, 1.0))
    assert choice.expected_of(own, Seen(None, False)) == pytest.approx((execution * helps, 0.0))
    assert choice.expected_of(own, Seen()) is None


def test_where_the_level_is_doubted_the_first_outcomes_move_it_and_no_feature() -> None:
    usual, doubting = learner(), learner()
    doubting.doubt_level()
    before = Stages.expected_help(pulls(doubting, options([2.0, 1.0, 1.0]))[0].context)
    assert before == pytest.approx(float(sigmoid(np.array([2.0]))[0]))
    for choice in (usual, doubting):
        for _ in range(10):
            choice.learn(pulls(choice, options([2.0, 1.0, 1.0])), Seen(acted=True, helped=False))
    level, usual_level = doubting._weights[0], usual._weights[0]
    assert level < 3.0 * usual_level < 0.0
    assert doubting.omega.max() < usual.omega.max()
    assert Stages.expected_help(pulls(doubting, options([2.0, 1.0, 1.0]))[0].context) < 0.7 * before
    assert Stages.beliefs_of(doubting.state(), doubts_level=True).omega.tolist() == doubting.omega.tolist()
    assert Stages.expected_help(b"") is None


def test_what_is_learned_of_help_is_as_uncertain_as_its_weights() -> None:
    """By differences: the log odds of help under other weights."""
    choice, seen = learner(), options([0.5, 1.0, 1.5])
    for number in range(12):
        choice.learn(pulls(choice, seen), Seen(acted=True, helped=bool(number % 3)))
    pick = choice.choose(seen, lambda: np.random.default_rng(0))
    assert pick is not None
    learned = choice.learned_help(pick)
    assert learned is not None
    assert learned.probability == Stages.expected_help(pick.context)
    weights, covariance, step = choice._weights.copy(), choice._covariance, 1e-5

    def log_odds(at: int, by: float) -> float:
        choice._weights = weights + by * np.eye(len(weights))[at]
        again = choice.choose(seen.only(pick.arm), lambda: np.random.default_rng(0))
        assert again is not None
        helps = Stages.expected_help(again.context)
        assert helps is not None
        return float(np.log(helps / (1.0 - helps)))

    slopes = np.array([(log_odds(at, step) - log_odds(at, -step)) / (2.0 * step) for at in range(len(weights))])
    assert learned.deviation == pytest.approx(float(np.sqrt(slopes @ covariance @ slopes)), rel=1e-5)
    assert learned.slope == 1.0 + weights[1]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(EVERYTHING), max_size=12), st.sampled_from(EVERYTHING))
def test_more_that_is_seen_leaves_no_weight_less_sure(before: list[Seen], more: Seen) -> None:
    choice, seen = learner(), options([0.5, 1.0, 1.5])
    for one in before:
        choice.learn(pulls(choice, seen), one)
    known = choice._covariance.copy()
    choice.learn(pulls(choice, seen), more)
    assert np.linalg.eigvalsh(known - choice._covariance).min() > -1e-6  # evidence is rounded
    first, later = (learner(), learner())
    for _ in range(60):
        later.learn(pulls(later, seen), Seen(acted=True, helped=True))
    sure = [each.learned_help(each.choose(seen, lambda: np.random.default_rng(0))) for each in (first, later)]
    assert sure[1].deviation < sure[0].deviation


def test_who_expects_nothing_learns_nothing_of_help() -> None:
    choice = learner()
    assert choice.learned_help(Pick(0, 1.0, 0.5)) is None
