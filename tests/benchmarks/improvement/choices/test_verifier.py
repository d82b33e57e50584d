"""The verifier of TAP: a classifier of pairs of people, of the model's own kind."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from onward.benchmarks.improvement.choices import fit_verifier
from onward.benchmarks.improvement.choices.verifier import PAIRS, TRUSTED_SHARE


def people(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.random((count, 3))
    return X, (X[:, 0] + 0.2 * generator.standard_normal(count) > 0.5).astype(int)


def test_the_verifier_separates_equal_from_different_labels_and_trusts_a_fixed_share_of_the_latter() -> None:
    X, labels = people()
    model = RandomForestClassifier(20, random_state=0).fit(X, labels)
    verifier = fit_verifier(model, X, labels, np.random.RandomState(0))
    random = np.random.RandomState(0)
    left, right = random.choice(len(X), PAIRS), random.choice(len(X), PAIRS)
    agreement = verifier.estimator.predict_proba(np.concatenate([X[left], X[right]], axis=1))[:, 1]
    same = labels[left] == labels[right]
    assert agreement[same].mean() > 0.8 > 0.2 > agreement[~same].mean()
    one, other = (model.predict_proba(X[side])[:, 1] for side in (left, right))
    doubt = np.abs(agreement - (one * other + (1 - one) * (1 - other)))
    assert (doubt[~same] < verifier.tolerance - 1e-9).mean() <= TRUSTED_SHARE + 1e-3
    assert (doubt[~same] <= verifier.tolerance + 1e-9).mean() >= TRUSTED_SHARE - 1e-3


def test_people_of_one_label_cannot_be_fitted() -> None:
    X, _ = people()
    with pytest.raises(ValueError, match="same label"):
        fit_verifier(RandomForestClassifier(5), X, np.ones(len(X), dtype=int), np.random.RandomState(0))
