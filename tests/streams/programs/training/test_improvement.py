"""The label prior: what scikit-learn says of the same models, and what labels that say nothing lead to."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.improvement import LabelPrior
from onward.agents.improvement.components.bagged_fit import fit_families
from onward.agents.improvement.components.ensemble import SMALLEST_SHARE
from onward.streams.programs.bundle.improvement import dump_improvement, load_improvement
from onward.tests.support.small_models import small_priors


def rows(count: int, columns: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels that follow two of the columns."""
    random = np.random.default_rng(seed)
    X = random.random((count, columns))
    return X, (random.random(count) < 1 / (1 + np.exp(-6 * (X[:, 0] + X[:, -1] - 1)))).astype(np.int64)


@pytest.fixture(scope="module")
def prior() -> LabelPrior:
    with small_priors():
        return LabelPrior.fit(*rows(200), 0)


def logit(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)


def test_it_is_the_mean_of_the_calibrated_families():
    """Computed again with ``predict_proba`` of every model that is fitted."""
    X, labels = rows(300)
    prior = LabelPrior.fit(X, labels, 3)
    fitted, slopes, intercept = fit_families(X, labels, 3)
    new = rows(50, seed=1)[0]
    expected = np.full(len(new), intercept)
    for slope, models in zip(slopes, fitted, strict=True):
        for model in models:
            expected += slope * logit(np.clip(model.predict_proba(new)[:, 1], SMALLEST_SHARE, 1 - SMALLEST_SHARE))
    np.testing.assert_allclose(prior.log_odds(new, new), expected, atol=2e-4)
    assert np.corrcoef(prior(new, new), new[:, 0] + new[:, -1])[0, 1] > 0.8


def test_a_row_does_not_depend_on_the_others(prior):
    new = rows(60, seed=2)[0]
    alone = np.concatenate([prior.log_odds(row[np.newaxis], row[np.newaxis]) for row in new])
    assert prior.log_odds(new, new).tobytes() == alone.tobytes()


def test_the_same_seed_gives_the_same_bytes_and_a_file_gives_the_same_prior():
    with small_priors():
        first, again, other = (LabelPrior.fit(*rows(60), seed) for seed in (0, 0, 1))
    assert dump_improvement(first) == dump_improvement(again) != dump_improvement(other)
    loaded, new = load_improvement(dump_improvement(first), "label_prior", 4), rows(30, seed=5)[0]
    assert loaded.log_odds(new, new).tobytes() == first.log_odds(new, new).tobytes()


def test_labels_that_are_noise_leave_it_flat():
    """A family counts above two standard deviations, so one of three in 20 may by chance: none with these seeds."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        prior = LabelPrior.fit(random.random((80, 3)), random.integers(0, 2, 80), seed)
        assert prior.is_flat


def test_few_rows_and_one_feature_are_enough():
    prior, new = LabelPrior.fit(*rows(40, 1), 0), rows(10, 1)[0]
    assert ((prior(new, new) > 0) & (prior(new, new) < 1)).all()


@pytest.mark.parametrize("desired", [0, 1, 39, 40])
def test_a_label_with_fewer_than_two_rows_has_none(desired):
    labels = (np.arange(40) < desired).astype(np.int64)
    assert LabelPrior.fit(rows(40)[0], labels, 0) is None


def test_with_two_rows_of_a_label_every_bag_has_both():
    labels = (np.arange(40) < 2).astype(np.int64)
    assert isinstance(LabelPrior.fit(rows(40)[0], labels, 0), LabelPrior)


def damaged(prior: LabelPrior, **arrays: np.ndarray) -> dict[str, np.ndarray]:
    return {**prior.arrays(), **arrays}


def test_damaged_arrays_and_an_unknown_method_are_refused(prior):
    for arrays, reason in (
        ({"weights": np.zeros(3)}, "finite weights"),
        ({"weights": np.full(4, np.nan)}, "finite weights"),
        ({"group": prior.arrays()["group"][::-1].copy()}, "ascending order"),
        ({"forest_weight": np.zeros(2)}, "forest_weight is missing or not"),
        ({"nodes": prior.arrays()["nodes"] + 4}, "node whose child|column"),
    ):
        with pytest.raises(ValueError, match=reason):
            LabelPrior.restore(damaged(prior, **arrays), 4)
    with pytest.raises(ValueError, match="there is no method 'oracle'"):
        load_improvement(dump_improvement(prior), "oracle", 4)
