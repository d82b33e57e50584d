from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import norm

from onward.agents.choices.components.execution_kernels import MIN_SHARE, best_option, mean_of_clipped


def test_mean_of_a_clipped_normal_variable():
    for m in (0.0, 0.1, 0.5, 0.9, 1.0):
        for noise in (0.01, 0.2, 1.5):
            low, high = norm.ppf(1e-12), norm.ppf(1 - 1e-12)
            z = np.linspace(low, high, 200_001)
            expected = np.trapezoid(np.clip(m + noise * z, 0, 1) * norm.pdf(z), z)
            assert mean_of_clipped(m, noise) == pytest.approx(expected, abs=1e-8)
    assert mean_of_clipped(0.3, 0.0) == 0.3


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 60),
    noise=st.sampled_from([0.0, 1e-4, 0.01, 0.1, 0.3, 1.0]),
    residual_weight=st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.9, 1.0]),
    focus=st.sampled_from([1e-6, 0.1, 1.0, 3.5, 99.0]),
    heaviness=st.sampled_from([0.0, 0.1, 1.0, 30.0, 400.0]),
    levels=st.sampled_from([1, 3, 1000]),
)
@example(seed=0, count=9, noise=0.0, residual_weight=0.0, focus=99.0, heaviness=400.0, levels=1000)
def test_skipping_options_does_not_change_the_pick(seed, count, noise, residual_weight, focus, heaviness, levels):
    """The result has the largest score, each worked out alone; of equals what was observed as the easiest, then the
    first. Where all scores underflow, estimates decide."""
    random = np.random.default_rng(seed)
    draw = lambda *shape: random.integers(0, levels + 1, shape) / levels  # noqa: E731
    points, person, weights = draw(count + 5, 3), draw(3), heaviness * random.random(3)
    upper_index = 0.05 + draw(count + 5)
    feasible = np.sort(random.permutation(count + 5)[:count])
    observed = draw(count)

    def found(places):
        arms = feasible[places]
        options = person, arms, points, arms, observed[places]
        at, estimate = best_option(options, weights, noise, residual_weight, upper_index, focus)
        return places[at], estimate

    estimates = [found(np.array([place]))[1] for place in range(count)]
    scores = [e**focus * upper_index[k] for e, k in zip(estimates, feasible, strict=True)]
    best = np.lexsort((np.arange(count), -observed, np.negative(scores if max(scores) else estimates)))[0]
    assert found(np.arange(count)) == (best, estimates[best])


def test_of_options_that_are_surely_carried_out_the_easiest_is_taken():
    arms, points, observed = np.arange(4), np.zeros((4, 1)), np.array([0.95, 0.98, 0.99, 0.99])
    options = points[0], arms, points, arms, observed
    assert best_option(options, np.ones(1), 0.3, 1.0, np.ones(4), 1.0) == (2, 1.0)


@given(
    seed=st.integers(0, 2**32),
    noise=st.sampled_from([0.0, 0.01, 0.3]),
    residual_weight=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_an_estimate_is_the_model_s_and_a_part_of_the_residual(seed, noise, residual_weight):
    random = np.random.default_rng(seed)
    person, point, weights = random.random((3, 4))
    observed = random.random(1)
    first = np.zeros(1, dtype=np.intp)
    options = person, first, point[None, :], first, observed
    _, estimate = best_option(options, weights, noise, residual_weight, np.ones(1), 1.0)
    m = np.exp(-weights @ np.abs(point - person))
    kept = m + residual_weight * (observed.item() - mean_of_clipped(m, noise))
    expected = min(max(kept, min(m, observed.item()), MIN_SHARE * m), 1.0) if residual_weight else m
    assert estimate == pytest.approx(expected, rel=1e-12)
