from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from onward.agents.goals.components.rejected_share import Alike, poisson_binomial, rejected_share


def test_the_number_of_successes_is_that_of_all_combinations():
    p = np.array([0.1, 0.5, 0.9])
    expected = np.zeros(4)
    for outcome in product((0, 1), repeat=3):
        expected[sum(outcome)] += np.prod(np.where(outcome, p, 1 - p))
    assert poisson_binomial(p[:, None])[0] == pytest.approx(expected)


def test_the_share_is_that_of_simulated_rounds():
    """Fixed draws; four standard errors of 100,000 rounds."""
    random = np.random.default_rng(3)
    p, ahead, rounds = random.random(6), random.random(5), 100_000
    successes = (random.random((rounds, 6)) < p).sum(axis=1)
    free = np.maximum(4 - (random.random((rounds, 5)) < ahead).sum(axis=1), 0)
    share = (np.maximum(successes - free, 0) / np.maximum(successes, 1))[successes > 0]
    exact = rejected_share(p[:, None], ahead[:, None], 4).item()
    assert exact == pytest.approx(share.mean(), abs=4 * share.std() / rounds**0.5)


def test_many_people_are_counted_as_a_normal_number():
    """500 people exactly would be a table of 500 x 500; 350 are computed in both ways."""
    p, ahead = np.full((200, 3), [0.4, 0.5, 0.6]), np.full((150, 3), 0.5)
    exact = rejected_share(p, ahead, 150)
    many = rejected_share(np.repeat(p, 2, axis=0), np.repeat(ahead, 2, axis=0), 300)
    assert rejected_share(p[::10], ahead, 150, weight=10.0) == pytest.approx(exact, abs=0.01)
    assert (np.diff(many) > 0).all()
    assert many == pytest.approx(exact, abs=0.02)


def test_where_many_compete_for_as_many_places_chance_alone_rejects_some():
    """Against the distribution of the number: of ten who stand for ten each, and of 400 who are ahead of 20."""
    number = np.arange(101)
    expected = (binom.pmf(number, 100, 0.5) * np.maximum(number - 50, 0)).sum() / 50
    assert rejected_share(np.full((10, 1), 0.5), np.empty((0, 1)), 50, weight=10.0).item() == pytest.approx(
        expected, rel=0.05
    )
    number = np.arange(401)
    expected = (binom.pmf(number, 400, 0.5) * np.clip(20 - (220 - number), 0, 20)).sum() / 20
    assert rejected_share(np.ones((20, 1)), np.full((400, 1), 0.5), 220).item() == pytest.approx(expected, rel=0.05)


def test_nobody_who_succeeds_is_nobody_who_is_rejected():
    assert rejected_share(np.zeros((3, 2)), np.ones((2, 2)), 1).tolist() == [0.0, 0.0]
    assert rejected_share(np.empty((0, 2)), np.empty((0, 2)), 1).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("number", "places", "weight"), [(5, 6, 1.0), (300, 200, 1.0), (40, 300, 10.0)])
def test_people_who_are_alike_count_as_so_many_rows(number, places, weight):
    random = np.random.default_rng(3)
    p, ahead, one, other = random.random((30, 4)), random.random((20, 4)), random.random(4), random.random(4)
    rows = (
        np.concatenate([p, np.tile(one, (round(number / weight), 1))]),
        np.concatenate([ahead, np.tile(other, (number, 1))]),
    )
    found = rejected_share(p, ahead, places, weight, Alike(number, one, other))
    assert found == pytest.approx(rejected_share(*rows, places, weight), rel=1e-9)
    assert (found > rejected_share(p, ahead, places, weight)).any()
