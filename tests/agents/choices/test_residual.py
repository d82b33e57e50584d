"""Residual: what outcomes say of features, of effort, and of the order in which they come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.choices import Pull
from onward.agents.choices.residual import Residual
from onward.agents.options import Options, Outlook
from onward.agents.sigmoid import sigmoid

FEATURES = 3
ARMS = np.eye(FEATURES)


def learner(**parameters: float) -> Residual:
    made = Residual(ARMS, window=10, **parameters)
    made.equip(features=FEATURES)
    return made


def options(log_odds: Sequence[float], effort: float = 0.2) -> Options:
    """An option for each feature: it alone changes, and without it the odds are e^-2."""
    each = np.arange(FEATURES)
    effects, efforts = np.diag(np.array(log_odds) + 2.0), np.eye(FEATURES) * effort
    execution = np.exp(-efforts.sum(axis=1))
    return Options(np.zeros(FEATURES), each, ARMS, each, execution, Outlook(np.array(log_odds), effects, efforts))


def pull(choice: Residual, seen: Options, step: int = 0) -> Pull:
    pick = choice.choose(seen, lambda: np.random.default_rng(step))
    assert pick is not None
    return Pull(step, pick.arm, pick.execution, pick.context)


def test_before_any_outcome_the_most_probable_option_is_picked() -> None:
    assert pull(learner(arm_sd=0.0), options([1.0, 3.0, 2.0])).arm == 1


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=12), st.randoms())
def test_outcomes_may_come_in_any_order_bit_for_bit(outcomes: list[tuple[int, float]], random: object) -> None:
    seen = options([0.5, 1.0, 1.5])
    pulls = [(pull(learner(), seen.only(arm)), reward) for arm, reward in outcomes]
    one, other = learner(), learner()
    for each, reward in pulls:
        one.update(each, reward)
    random.shuffle(pulls)  # type: ignore[attr-defined]
    for each, reward in pulls:
        other.update(each, reward)
    assert {name: array.tobytes() for name, array in one.state().items()} == {
        name: array.tobytes() for name, array in other.state().items()
    }


def test_the_evidence_of_two_learners_adds_up_to_that_of_one() -> None:
    seen, both, parts = options([0.5, 1.0, 1.5]), learner(), (learner(), learner())
    for step in range(20):
        each = pull(parts[0], seen.only(step % 3))
        both.update(each, float(step % 4 == 0))
        parts[step % 2].update(each, float(step % 4 == 0))
    total = {name: array + parts[1].state()[name] for name, array in parts[0].state().items()}
    for name, array in both.state().items():
        np.testing.assert_array_equal(array, total[name])


def play(truth: np.ndarray, harder: float = 1.0) -> Residual:
    """600 outcomes of the options that a learner picks; feature f truly gives ``truth[f]`` of what is expected."""
    choice, random = learner(arm_sd=0.0), np.random.default_rng(5)
    for step in range(600):
        log_odds, effort = random.uniform(0.5, 3.0, FEATURES), random.uniform(0.05, 0.6)
        seen = options(log_odds, effort)
        each = pull(choice, seen, step)
        truly = -2.0 + truth[each.arm] * (log_odds[each.arm] + 2.0)
        choice.update(each, float(random.random() < sigmoid(np.array([truly]))[0] * np.exp(-harder * effort)))
    return choice


def test_a_feature_that_does_not_help_is_found() -> None:
    """One fixed seed."""
    omega = play(np.array([0.0, 1.0, 1.0])).omega
    assert omega[0] > 0.2
    assert np.abs(omega[1:]).max() < 0.2
    assert pull(play(np.array([0.0, 1.0, 1.0])), options([2.0, 1.0, 0.5])).arm != 0


def test_the_level_of_effort_is_learned() -> None:
    easy, hard = (play(np.ones(FEATURES), harder).difficulty.mean() for harder in (0.25, 6.0))
    assert easy < 1.0 < hard


def test_the_certainty_of_difficulty_is_that_of_weights_drawn_from_the_posterior() -> None:
    """A feature that no option changes is as before any outcome; one is seen by its effort alone."""
    choice, each = learner(arm_sd=0.0), np.arange(FEATURES)
    efforts = np.diag([0.4, 0.4, 0.0])
    seen = Options(
        np.zeros(3), each, ARMS, each, np.exp(-efforts.sum(axis=1)), Outlook(each, np.zeros((3, 3)), efforts)
    )
    for step in range(300):
        choice.update(pull(choice, seen.only(step % 2), step), float(step % 4 == 0))
    beliefs = choice.beliefs
    assert beliefs.seen.tolist() == [True, True, False]
    information, target = choice.state()["information"], choice.state()["target"]
    covariance = np.linalg.inv(information + np.diag([1 / 0.25, 1 / 0.15, 1.0, 1 / 0.3, *[5] * 3, *[4] * 3]) ** 2)
    drawn = np.random.default_rng(0).multivariate_normal(covariance @ target, covariance, 20_000)
    log_difficulty = drawn[:, 2, np.newaxis] + np.log1p(np.maximum(drawn[:, 7:], -0.9))
    np.testing.assert_allclose(beliefs.log_difficulty_sd, log_difficulty.std(axis=0), rtol=0.1)


def test_the_estimate_of_execution_follows() -> None:
    hard, seen = play(np.ones(FEATURES), 6.0), options([1.0, 1.0, 1.0])
    assert pull(hard, seen).execution < pull(learner(), seen).execution


def test_a_context_of_another_learner_is_refused_and_none_teaches_nothing() -> None:
    choice = learner()
    before = {name: array.copy() for name, array in choice.state().items()}
    choice.update(Pull(0, 0, 0.5), 1.0)
    for name, array in choice.state().items():
        np.testing.assert_array_equal(array, before[name])
    for context in (b"\0" * 8, np.array([0.5, 0.0, 0.0, 0, 0, 0, 0, 7.0, 1.0, 1.0]).tobytes()):
        with pytest.raises(ValueError, match="is not of a residual of 3 features"):
            choice.update(Pull(0, 0, 0.5, context), 1.0)


def test_an_expectation_of_an_older_estimate_still_counts() -> None:
    """The estimate under which an option was picked is in its pull; the one of today is not asked."""
    choice = learner(arm_sd=0.0)
    older = pull(choice, options([3.0, 0.0, 0.0]))
    newer = pull(choice, options([-1.0, 0.0, 3.0]))
    choice.update(older, 0.0)
    assert choice.omega[0] > 0.0
    assert choice.omega[2] == 0.0
    choice.update(newer, 0.0)
    assert choice.omega[2] > 0.0


@pytest.mark.parametrize("name", ["information", "arm_information"])
def test_evidence_that_no_outcomes_can_have_taught_is_refused_and_changes_nothing(name: str) -> None:
    choice = learner()
    choice.update(pull(choice, options([0.5, 1.0, 1.5])), 1.0)
    before = choice.state()
    with pytest.raises(ValueError, match="not that of any outcomes"):
        choice.add({name: -2.0 * before[name] - 1000.0 * (before[name] != 0)})
    for array, same in zip(choice.state().values(), before.values(), strict=True):
        np.testing.assert_array_equal(array, same)


def sure_of(weights: np.ndarray) -> Residual:
    """A learner whose weights are all but these."""
    made, strength = learner(arm_sd=0.0), 2.0**30
    state = made.state()
    state["information"] = np.eye(len(weights)) * strength
    state["target"] = weights * strength
    made.restore(state)
    return made


def test_an_outcome_adds_the_information_and_the_score_of_the_expected_reward() -> None:
    """The slopes of log q by central differences, and the working response of a Poisson regression around the pick."""
    weights, seen, step = np.array([0.3, 0.2, 0.6, -0.2, 0.1, 0.4, 0.0, 0.3, 0.5, 0.0]), options([0.5, 1.0, 1.5]), 1e-4
    each = pull(sure_of(weights), seen.only(1))

    def log_reward(other: np.ndarray) -> float:
        choice = sure_of(other)
        return float(np.log(choice.expected_reward(pull(choice, seen.only(1)))))

    moves = step * np.eye(len(weights))
    slopes = np.array([(log_reward(weights + move) - log_reward(weights - move)) / (2 * step) for move in moves])
    assert np.count_nonzero(np.abs(slopes) > 1e-3) == 6
    choice = sure_of(weights)
    before, q = choice.state(), np.exp(log_reward(weights))
    choice.update(each, 0.25)
    after = choice.state()
    weight, score = q / (1 - q), (0.25 - q) / (1 - q)
    np.testing.assert_allclose(
        after["information"] - before["information"], weight * np.outer(slopes, slopes), atol=1e-5
    )
    np.testing.assert_allclose(
        after["target"] - before["target"], (weight * slopes @ weights + score) * slopes, atol=1e-5
    )
