"""Contributions are Shapley values: held against their definition, and against laws that they keep."""

from __future__ import annotations

from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from onward.agents.fitted_trees.boosting import histogram_boosting
from onward.agents.fitted_trees.forests import Forest
from onward.agents.reasons import LinearContributions, SampledContributions, TreeContributions, principal_reasons
from onward.agents.reasons import sampled as sampling

FEATURE_OF = np.array([0, 1, 1, 1, 2, 3, 4])
"""Seven columns: the second feature has three categories."""


def shapley(score, person, baseline, feature_of):
    """Shapley values by their definition: over all coalitions, one at a time."""
    count = feature_of.max() + 1
    value = {
        coalition: score(np.where(np.isin(feature_of, coalition), person, baseline)[np.newaxis])[0]
        for size in range(count + 1)
        for coalition in combinations(range(count), size)
    }
    return [
        sum(
            (value[tuple(sorted((*others, feature)))] - value[others]) / (count * comb(count - 1, len(others)))
            for others in value
            if feature not in others
        )
        for feature in range(count)
    ]


def rows(count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    drawn = random.random((count, 7)).round(1)
    drawn[:, 1:4] = np.eye(3)[random.integers(3, size=count)]
    return drawn


def labelled(seed: int):
    X = rows(300, seed)
    return X, ((X[:, 0] + X[:, 2] * X[:, 4] - X[:, 5] * X[:, 6]) > 0.5).astype(int)


def forest(seed: int):
    return Forest(RandomForestClassifier(8, random_state=seed).fit(*labelled(seed)), 7).as_sum()


def extra_trees(seed: int):
    return Forest(ExtraTreesClassifier(8, random_state=seed).fit(*labelled(seed)), 7).as_sum()


def booster(seed: int):
    return histogram_boosting(HistGradientBoostingClassifier(max_iter=8).fit(*labelled(seed)), 7)


@pytest.mark.parametrize("trees_of", [forest, extra_trees, booster])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 1000))
def test_those_of_trees_are_shapley_values_of_their_sum(trees_of, seed):
    trees, (baseline, *people) = trees_of(seed % 3), rows(4, seed)
    plain = trees.mapped(1.0, 0.0, logistic=False)

    def total(X):
        return plain.score(X) if not trees.logistic else np.log(trees.score(X)) - np.log1p(-trees.score(X))

    own = TreeContributions(trees, baseline, FEATURE_OF).contributions_of(np.array(people))
    expected = [shapley(total, person, baseline, FEATURE_OF) for person in people]
    assert own == pytest.approx(np.array(expected), abs=1e-9)


def test_those_of_a_linear_score_are_shapley_values_of_its_log_odds():
    score = SimpleNamespace(weights=np.array([1.0, -2.0, 0.5, 3.0, 0.25, -1.5, 0.0]), bias=-0.3)
    baseline, *people = rows(6, 1)
    own = LinearContributions(score, baseline, FEATURE_OF).contributions_of(np.array(people))
    expected = [shapley(lambda X: X @ score.weights, person, baseline, FEATURE_OF) for person in people]
    assert own == pytest.approx(np.array(expected), abs=1e-12)


def curved(X):
    """A score in which features act together."""
    return np.tanh(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3] * X[:, 4] + 0.3 * X.sum(axis=1) + X[:, 5] * X[:, -1])


def test_where_few_features_part_all_their_coalitions_are_asked_about():
    baseline, *people = rows(6, 2)
    own = SampledContributions(curved, baseline, FEATURE_OF).contributions_of(np.array(people))
    expected = [shapley(curved, person, baseline, FEATURE_OF) for person in people]
    assert own == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("features", [12, 20])
def test_sampled_ones_add_up_and_find_the_foremost_features(features):
    random = np.random.default_rng(3)
    baseline, people, feature_of = random.random(features), random.random((20, features)), np.arange(features)
    weights = np.linspace(-1.0, 1.0, features)

    def score(X):
        return np.tanh(X @ weights + X[:, 0] * X[:, 1])

    own = SampledContributions(score, baseline, feature_of).contributions_of(people)
    assert own.sum(axis=1) == pytest.approx(score(people) - score(baseline[np.newaxis]), abs=1e-12)
    if features == 12:
        coalitions, estimate = sampling.all_coalitions(features)
        exact = [estimate @ score(np.where(coalitions, person, baseline)) for person in people]
        same = [set(np.argsort(a)[:4]) == set(np.argsort(b)[:4]) for a, b in zip(own, exact, strict=True)]
        assert np.mean(same) >= 0.95


def test_a_thousand_features_cost_no_more_than_some_thousand_rows():
    features, asked = 1000, []

    def score(X):
        asked.append(len(X))
        return np.tanh(X[:, 0] - X[:, 1] + 0.01 * X.sum(axis=1))

    random = np.random.default_rng(5)
    baseline, person = random.random(features), random.random((1, features))
    own = SampledContributions(score, baseline, np.arange(features)).contributions_of(person)
    assert own.sum() == pytest.approx(score(person)[0] - score(baseline[np.newaxis])[0], abs=1e-9)
    assert sum(asked) < 4 * sampling.MOST_ROWS
    assert max(asked) <= sampling.BLOCK_ROWS


def of_all_kinds(baseline):
    linear = SimpleNamespace(weights=np.arange(7.0), bias=0.0)
    yield LinearContributions(linear, baseline, FEATURE_OF)
    yield TreeContributions(forest(0), baseline, FEATURE_OF)
    yield SampledContributions(curved, baseline, FEATURE_OF)


def test_a_persons_contributions_do_not_depend_on_the_others_and_the_baseline_has_none():
    baseline, *people = rows(30, 4)
    for contributions in of_all_kinds(baseline):
        together = contributions.contributions_of(np.array(people))
        alone = np.concatenate([contributions.contributions_of(person[np.newaxis]) for person in people])
        assert together.tobytes() == alone.tobytes()
        assert not contributions.contributions_of(baseline[np.newaxis]).any()
        assert contributions.contributions_of(np.zeros((0, 7))).shape == (0, 5)


def test_what_the_model_cannot_score_is_no_reason():
    def score(X):
        return np.where(X[:, 0] > 0.5, np.nan, X[:, 4])

    baseline, person = np.zeros(7), np.array([1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    contributions = SampledContributions(score, baseline, FEATURE_OF).contributions_of(person[np.newaxis])
    assert principal_reasons(contributions, np.zeros(5, dtype=bool))[0].stated == ()
