"""How far labels speak for people: what is claimed where hardly anybody like them has one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.improvement import LabelPrior
from onward.agents.improvement.components.labelled_share import fit_labelled_share
from onward.agents.sigmoid import sigmoid

ROWS = 600


def people(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, 3) with labels that follow the first column, and whether each has one: the more of it, the rather."""
    random = np.random.default_rng(seed)
    X = random.random((ROWS, 3))
    labels = (random.random(ROWS) < X[:, 0]).astype(np.int64)
    return X, labels, random.random(ROWS) < sigmoid(8.0 * (X[:, 0] - 0.5))


@pytest.fixture(scope="module")
def prior() -> LabelPrior:
    X, labels, labelled = people(0)
    fitted = LabelPrior.fit(X[labelled], labels[labelled], 0, X[~labelled])
    assert fitted is not None
    return fitted


pairs = st.lists(st.tuples(*[st.floats(0.0, 1.0, width=32)] * 6), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(pairs, st.randoms(use_true_random=False))
def test_a_share_of_the_gain_is_claimed_whoever_else_is_asked_about(
    prior: LabelPrior, rows: list[tuple[float, ...]], random: object
) -> None:
    after, before = np.split(np.array([*rows, *rows]), 2, axis=1)
    claimed = prior(after, before)
    own, labelled = sigmoid(prior.of_labelled(before)), sigmoid(prior.of_labelled(after))
    low, high = np.minimum(own, labelled), np.maximum(own, labelled)
    assert (claimed >= low - 1e-9).all()
    assert (claimed <= high + 1e-9).all()
    alone = [prior(after[[row]], before[[row]])[0] for row in range(len(after))]
    assert claimed.tolist() == alone


def test_nobody_who_stays_is_more_or_less_probable_than_among_those_with_a_label(prior: LabelPrior) -> None:
    X, _, _ = people(1)
    np.testing.assert_allclose(prior.log_odds(X, X), prior.of_labelled(X), atol=1e-9)


def test_less_is_claimed_the_fewer_have_a_label(prior: LabelPrior) -> None:
    steps = np.linspace(0.0, 1.0, 21)
    X = np.column_stack([steps, np.full(21, 0.5), np.full(21, 0.5)])
    share = prior._coverage.share(X)
    assert (np.diff(share) >= 0.0).all()
    assert share[0] < 0.2
    assert share[-1] == 1.0


def test_it_comes_back_bit_for_bit(prior: LabelPrior) -> None:
    X, other = people(2)[0], people(3)[0]
    again = LabelPrior.restore(prior.arrays(), 3)
    assert again.log_odds(X, other).tobytes() == prior.log_odds(X, other).tobytes()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labelled_weights", np.zeros(2)),
        ("labelled_weights", np.array([0.0, np.nan, 0.0])),
        ("labelled_rate", np.asarray(0.0)),
        ("labelled_base", np.zeros(1)),
        ("labelled_base", None),
    ],
)
def test_a_damaged_one_is_refused(prior: LabelPrior, name: str, value: np.ndarray | None) -> None:
    arrays = {**prior.arrays(), name: value}
    with pytest.raises(ValueError, match="label"):
        LabelPrior.restore({key: array for key, array in arrays.items() if array is not None}, 3)


def test_labels_that_are_missing_by_chance_say_as_much_as_all() -> None:
    X, labels, _ = people(4)
    labelled = np.random.default_rng(0).random(ROWS) < 0.5
    assert fit_labelled_share(X[labelled], X[~labelled], 0) is None
    with_others = LabelPrior.fit(X[labelled], labels[labelled], 0, X[~labelled])
    alone = LabelPrior.fit(X[labelled], labels[labelled], 0)
    assert with_others is not None
    assert alone is not None
    assert with_others.log_odds(X, X).tobytes() == alone.log_odds(X, X).tobytes()
    assert with_others.arrays().keys() == alone.arrays().keys()


def test_a_row_counts_by_how_rarely_others_like_it_have_a_label() -> None:
    X, _, labelled = people(5)
    found = fit_labelled_share(X[labelled], X[~labelled], 0)
    assert found is not None
    weights, first = found.weights, X[labelled][:, 0]
    assert weights.mean() == pytest.approx(1.0)
    assert weights[first < 0.4].mean() > 1.1 * weights[first > 0.9].mean()
    assert weights.max() / weights.mean() < 2.0


def test_a_few_rows_without_a_label_tell_nothing() -> None:
    X, _, labelled = people(6)
    assert fit_labelled_share(X[labelled], X[~labelled][:10], 0) is None
