"""What answers teach: held against the exact posterior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.costs.mixture import GaussianMixture
from onward.agents.costs.particles import GivenAnswer, Particles
from onward.agents.costs.plan_costs import PlanCosts
from onward.agents.costs.responses import LogisticResponse, Noiseless, Response

GRID = np.linspace(-30.0, 40.0, 20_001)


def offered(*prices: float) -> PlanCosts:
    """A plan that costs the only weight, beside plans that cost these prices whatever it is."""
    coefficients = np.append(1.0, np.zeros(len(prices)))[:, np.newaxis]
    plans = PlanCosts(np.column_stack([coefficients, np.append(0.0, prices)]), np.arange(len(prices) + 1)[:, None])
    return plans._replace(floor=-np.inf)


def prior(sd: float = 1.0) -> GaussianMixture:
    """The second weight is 1 for everybody."""
    return GaussianMixture(
        np.array([0.5, 0.3, 0.2]),
        np.array([[0.0, 1.0], [4.0, 1.0], [9.0, 1.0]]),
        np.array([[sd, 0.0]] * 3),
    )


def exact(answers: list[GivenAnswer], response: Response) -> tuple[np.ndarray, np.ndarray]:
    """The posterior of the kinds (3,), and the posterior density of the first weight on the grid."""
    mixture = prior()
    weights = np.column_stack([GRID, np.ones_like(GRID)])
    likelihood = np.ones_like(GRID)
    for answer in answers:
        likelihood *= response.probability(answer.offered.totals(weights))[answer.picked]
    density = mixture.mass[:, np.newaxis] * np.exp(-0.5 * (GRID - mixture.means[:, :1]) ** 2) * likelihood
    density /= density.sum()
    return density.sum(axis=1), density.sum(axis=0)


@pytest.mark.parametrize("response", [Noiseless(), LogisticResponse()])
@pytest.mark.parametrize("picks", [[0], [1], [1, 0], [1, 1, 0, 1], [0, 1]])
def test_answers_give_the_exact_posterior(response: Response, picks: list[int]) -> None:
    answers = [GivenAnswer(offered(price), pick) for price, pick in zip((2.0, 6.0, 3.0, 4.5), picks, strict=False)]
    kinds, density = exact(answers, response)
    found, means = [], []
    for key in range(25):
        person = Particles(prior(), response, [key])
        for answer in answers:
            person.update(answer)
        found.append(person.kinds)
        means.append(float(person.weights[:, 0] @ person.probability))
    np.testing.assert_allclose(np.mean(found, axis=0), kinds, atol=0.04)
    assert np.mean(means) == pytest.approx(density @ GRID, abs=0.25)


@settings(max_examples=15, deadline=None)
@given(picks=st.lists(st.integers(0, 1), max_size=5), key=st.integers(0, 2**40))
def test_the_same_key_and_answers_give_the_same_bytes_whoever_was_asked_before(picks: list[int], key: int) -> None:
    def asked() -> Particles:
        person = Particles(prior(), Noiseless(), [key])
        for price, pick in enumerate(picks):
            person.update(GivenAnswer(offered(float(price)), pick))
        return person

    first = asked()
    Particles(prior(), Noiseless(), [key + 1]).update(GivenAnswer(offered(1.0), 0))
    again = asked()
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.probability.tobytes() == again.probability.tobytes()


def test_answers_that_contradict_each_other_leave_a_posterior() -> None:
    person = Particles(prior(), Noiseless(), [0])
    for pick in (0, 1) * 6:
        person.update(GivenAnswer(offered(3.0), pick))
    assert np.isfinite(person.weights).all()
    assert person.probability.sum() == pytest.approx(1.0)
    assert np.isfinite(person.costs(offered(3.0)) @ person.probability).all()


def test_who_is_unlike_all_components_is_learned_where_the_prior_is_broadened() -> None:
    answers = [GivenAnswer(offered(price), int(price < 14.0)) for price in (10.0, 13.0, 15.0, 13.5)]
    means = {}
    for name, mixture in (("narrow", prior(0.3)), ("broad", prior(0.3).broadened())):
        person = Particles(mixture, Noiseless(), [3])
        for answer in answers:
            person.update(answer)
        means[name] = float(person.weights[:, 0] @ person.probability)
    assert means["narrow"] < 12.0
    assert means["broad"] == pytest.approx(14.0, abs=1.0)


def test_an_improbable_kind_costs_no_moves_and_a_worn_one_is_spread_again() -> None:
    person = Particles(prior(), Noiseless(), [1])
    for price in np.linspace(3.0, 3.95, 8):
        person.update(GivenAnswer(offered(price), 1))
    for price in np.linspace(5.0, 4.2, 8):
        person.update(GivenAnswer(offered(price), 0))
    chosen = person.weights[person.probability > 1e-9, 0]
    assert len(np.unique(chosen)) > 20
    assert ((chosen > 3.9) & (chosen < 4.25)).mean() > 0.9
