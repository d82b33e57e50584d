"""The truth of a world, without its people: repayment, improvement, difficulties and delays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from onward.environments.population import SPEC, Population
from onward.environments.truth import Conditions, Fitted, Repayment, TrueImprovement
from onward.environments.truth.conditions import delays, difficulties
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table

LOAN = load_spec(SPEC).spec
SIGMAS = 4.9


@pytest.fixture(scope="module")
def people():
    return Population(seed=11).table(LOAN, size=20_000)


def test_people_repay_as_often_as_the_truth_says(people):
    """Fixed draws, in ten groups by probability; for other draws a right truth would fail once in 100,000 times."""
    probability = Repayment(FeatureCodec(LOAN)).probability(people.X)
    assert 0 <= probability.min() < 0.01 < 0.99 < probability.max() <= 1
    for group in np.array_split(np.argsort(probability), 10):
        expected, spread = probability[group].sum(), np.sqrt((probability[group] * (1 - probability[group])).sum())
        assert abs(people.labels[group].sum() - expected) < SIGMAS * spread


def test_age_and_education_have_no_effect_of_their_own_and_savings_have_one(people):
    codec = FeatureCodec(LOAN)
    truth, poor = Repayment(codec), {**people.rows[0], "savings": 0}
    changed = [poor, {**poor, "education": "master", "age_band": "30_to_49"}, {**poor, "savings": 20_000}]
    own, educated, saving = truth.probability(codec.encode_many(changed))
    assert own == educated < saving


def test_labels_are_drawn_anew_from_the_fitted_truth(people):
    some = Table(people.rows[:1500], people.labels[:1500], people.X[:1500])
    truth = Fitted(some, seed=1)
    drawn, again = truth.relabelled(some, seed=2), truth.relabelled(some, seed=2)
    probability = truth.probability(some.X)
    assert (drawn.labels == again.labels).all()
    assert (drawn.labels != some.labels).any()
    assert abs(drawn.labels.sum() - probability.sum()) < SIGMAS * np.sqrt((probability * (1 - probability)).sum())


class Linear:
    """The probability is the first feature."""

    def probability(self, X):
        return X[:, 0]


def test_a_person_improves_by_the_same_luck_or_by_new_luck():
    before, after = np.array([[0.2], [0.2], [0.6]]), np.array([[0.6], [0.1], [0.6]])
    none = np.zeros(1, dtype=bool)
    assert TrueImprovement(Linear(), 0.0, none)(before, after).tolist() == [0.6, 0.1, 0.6]
    assert TrueImprovement(Linear(), 1.0, none)(before, after) == pytest.approx([0.5, 0.0, 0.0])
    assert TrueImprovement(Linear(), 0.3, none)(before, after) == pytest.approx([0.57, 0.07, 0.42])


def test_a_change_without_an_effect_leaves_the_person_as_they_were():
    improvement = TrueImprovement(Linear(), 0.0, np.ones(1, dtype=bool))
    assert improvement(np.array([[0.2]]), np.array([[0.9]])).tolist() == [0.2]


def test_difficulties_are_one_on_average_and_have_the_spread_that_was_asked_for():
    drawn = difficulties(1, 400, 5000, Conditions(feature_spread=0.4, person_spread=0.3))
    assert drawn.mean() == pytest.approx(1, rel=0.03)
    assert np.log(drawn).std(axis=0).mean() == pytest.approx(0.3, rel=0.03)
    assert np.log(drawn).mean(axis=0).std() == pytest.approx(0.4, rel=0.05)


def test_delays_have_their_median_and_a_heavy_tail():
    drawn = delays(1, 100_000, Conditions(delay_median=4.0, delay_tail=1.0))
    assert drawn.min() == 1
    assert np.median(drawn) == 4
    # With exponent 1 and scale 4 the exact chance of more than 400 is 1 / 101.
    assert (drawn > 400).mean() == pytest.approx(1 / 101, rel=0.15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"luck_kept": 1.5}, "luck_kept is 1.5: give a share from 0 to 1"),
        ({"person_spread": -1.0}, "give a standard deviation, 0 or more"),
        ({"delay_tail": 0.0}, "give a number above 0"),
    ],
)
def test_conditions_that_no_world_has_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(Conditions(), **change)
