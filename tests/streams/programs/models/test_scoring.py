import warnings
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from onward.agents.fitted_trees.forests import Forest
from onward.agents.scores import together
from onward.streams.programs.models.scoring import scorer

COLUMNS = 5
RNG = np.random.default_rng(11)
X = RNG.random((400, COLUMNS))
X[:, 0] = np.round(X[:, 0] * 4) / 4
SUMS = X @ RNG.normal(size=COLUMNS) + 0.4 * RNG.normal(size=400)
Y = (np.median(SUMS) < SUMS).astype(int)
BINS = np.floor(X * 4)
ROWS = RNG.random((150, COLUMNS))


WITH_GAPS = "boosting of rows with gaps"

FORESTS = {
    "random forest": RandomForestClassifier(40, random_state=0),
    "extra trees": ExtraTreesClassifier(15, random_state=1, bootstrap=True),
    "weighted": RandomForestClassifier(10, class_weight="balanced", min_samples_leaf=3, random_state=2),
    "stumps": RandomForestClassifier(7, max_depth=1, random_state=3),
}
OTHERS = {
    "logistic": LogisticRegression(),
    "relu": MLPClassifier((33, 9), max_iter=20, random_state=0),
    "tanh": MLPClassifier((17,), activation="tanh", max_iter=20, random_state=0),
    "logistic units": MLPClassifier((8,), activation="logistic", solver="sgd", max_iter=20, random_state=0),
    "identity": MLPClassifier((4,), activation="identity", solver="lbfgs", max_iter=20, random_state=0),
}
BOOSTERS = {
    "boosting": GradientBoostingClassifier(n_estimators=30, random_state=0),
    "boosting from zero": GradientBoostingClassifier(n_estimators=5, init="zero", subsample=0.5),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    WITH_GAPS: HistGradientBoostingClassifier(max_iter=9),
}


def calibrated(estimator):
    return CalibratedClassifierCV(estimator, cv=3, ensemble=False)


CALIBRATED = {
    "calibrated logistic": calibrated(LogisticRegression()),
    "calibrated forest": calibrated(RandomForestClassifier(10, random_state=0)),
    "calibrated boosting": calibrated(GradientBoostingClassifier(n_estimators=10)),
    "calibrated histogram boosting": calibrated(HistGradientBoostingClassifier(max_iter=10)),
}
OTHERS |= BOOSTERS | CALIBRATED
ALL = FORESTS | OTHERS


def fitted(estimator, rows=X, labels=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that has not converged is as good for this
        return estimator.fit(rows, labels)


@cache
def named(name):
    """The fitted estimator of this name."""
    return fitted(ALL[name], np.where(X > 0.98, np.nan, X) if name == WITH_GAPS else X)


@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_scores_as_scikit_learn_does_bit_for_bit(name):
    model = scorer(named(name), COLUMNS)
    on_the_edge = np.repeat(X[:20], COLUMNS, axis=0)
    for tree, row in zip(named(name).estimators_ * 20, on_the_edge, strict=False):
        inner = tree.tree_.feature >= 0
        row[tree.tree_.feature[inner]] = tree.tree_.threshold[inner]
    for rows in (ROWS, on_the_edge, ROWS[:8], on_the_edge[:3], ROWS[:1], ROWS[:0]):
        assert (model.score(rows) == named(name).predict_proba(rows)[:, 1]).all() if len(rows) else True
        assert model.score(rows).shape == (len(rows),)


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_model_scores_as_scikit_learn_does(name):
    ours, theirs = scorer(named(name), COLUMNS).score(ROWS), named(name).predict_proba(ROWS)[:, 1]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_booster_agrees_with_scikit_learn_on_the_thresholds_of_its_trees(name):
    model = scorer(named(name), COLUMNS)
    rows = np.repeat(ROWS[:1], len(model.nodes), axis=0)
    inner = np.flatnonzero(model.nodes[:, 0] >= 0)
    rows[inner, model.nodes[inner, 0]] = model.threshold[inner]
    np.testing.assert_allclose(model.score(rows), named(name).predict_proba(rows)[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, len(ROWS)), max_size=12), order=st.permutations(range(0, len(ROWS), 10)))
def test_a_row_scores_the_same_whatever_stands_beside_it(name, cuts, order):
    model = scorer(named(name), COLUMNS)
    whole = model.score(ROWS)
    edges = [0, *sorted(cuts), len(ROWS)]
    pieces = [model.score(ROWS[first:last]) for first, last in pairwise(edges)]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()
    assert model.score(ROWS[order]).tobytes() == whole[order].tobytes()


@pytest.mark.parametrize("names", [["logistic"] * 4, ["logistic", "relu", "random forest"]])
def test_several_models_score_together_as_each_does_alone(names):
    kept = [np.arange(len(X)) % (3 + number) > 0 for number in range(len(names))]
    fits = [fitted(clone(ALL[name]), X[rows], Y[rows]) for name, rows in zip(names, kept, strict=True)]
    models = [scorer(fit, COLUMNS).score for fit in fits]
    for count in (0, 1, len(ROWS)):
        several = together(models)(ROWS[:count])
        assert several.shape == (count, len(models))
        for number, model in enumerate(models):
            assert several[:, number].tobytes() == model(ROWS[:count]).tobytes()


@pytest.mark.parametrize("name", FORESTS)
@settings(max_examples=30)
@given(person=st.integers(0, len(ROWS) - 1), seed=st.integers(0, 2**32), most=st.integers(1, COLUMNS))
def test_variants_of_a_person_score_as_scikit_learn_scores_them(name, person, seed, most):
    random = np.random.default_rng(seed)
    variants = np.repeat(ROWS[person : person + 1], 40, axis=0)
    for row in variants:
        columns = random.permutation(COLUMNS)[: random.integers(0, most + 1)]
        row[columns] = ROWS[random.integers(0, len(ROWS), len(columns)), columns]
    ours, theirs = scorer(named(name), COLUMNS).score(variants), named(name).predict_proba(variants)[:, 1]
    assert ours.tobytes() == theirs.tobytes()


def test_far_rows_do_not_overflow():
    model = scorer(named("logistic"), COLUMNS)
    direction = np.sign(named("logistic").coef_)
    assert model.score(1e6 * direction).tolist() == [1.0]
    assert model.score(-1e6 * direction).tolist() == [0.0]


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (fitted(SVC()), "type sklearn.svm._classes.SVC is not supported"),
        (fitted(LinearRegression()), "LinearRegression is not supported"),
        (RandomForestClassifier(2).fit(X, Y + 1), r"fitted on the classes 0 and 1, not \[1 2\]"),
        (RandomForestClassifier(2).fit(X, Y * 0), "fitted on the classes 0 and 1"),
        (RandomForestClassifier(2).fit(X[:, :4], Y), "takes 4 columns, the spec has 5"),
        (LogisticRegression(), "fitted on the classes 0 and 1, not None"),
        (fitted(GradientBoostingClassifier(n_estimators=2, loss="exponential")), "loss 'exponential' is not supported"),
        (fitted(GradientBoostingClassifier(n_estimators=2, init=LogisticRegression())), "leave init out"),
        (HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(BINS, Y), "splits by categories"),
        (CalibratedClassifierCV(LogisticRegression(), method="isotonic").fit(X, Y), "method='sigmoid' and ensemble=F"),
        (fitted(calibrated(SVC())), "CalibratedClassifierCV of SVC is not supported"),
    ],
)
def test_an_unsupported_estimator_is_refused_with_the_reason(estimator, says):
    with pytest.raises(ValueError, match=says):
        scorer(estimator, COLUMNS)


def test_weights_that_are_not_finite_are_refused():
    broken = LogisticRegression().fit(X, Y)
    broken.coef_ = broken.coef_ * np.nan
    with pytest.raises(ValueError, match="not finite"):
        scorer(broken, COLUMNS)


def tree(**changes):
    sound = {
        "node_count": 3,
        "n_features": COLUMNS,
        "children_left": np.array([1, -1, -1]),
        "children_right": np.array([2, -1, -1]),
        "feature": np.array([0, -2, -2]),
        "threshold": np.array([0.5, -2.0, -2.0]),
        "value": np.array([[[0.5, 0.5]], [[1.0, 0.0]], [[0.0, 1.0]]]),
    }
    return SimpleNamespace(estimators_=[SimpleNamespace(tree_=SimpleNamespace(**{**sound, **changes}))])


def test_a_tree_of_a_foreign_file_must_be_a_tree():
    assert Forest(tree(), COLUMNS).score(np.array([[0.4] * COLUMNS, [0.6] * COLUMNS])).tolist() == [0.0, 1.0]
    for changes, says in [
        ({"children_left": np.array([0, -1, -1])}, "does not come after it"),
        ({"children_left": np.array([-5, -1, -1])}, "does not come after it"),
        ({"children_right": np.array([3, -1, -1])}, "does not come after it"),
        ({"feature": np.array([COLUMNS, -2, -2])}, "a column that does not exist"),
        ({"value": np.zeros((3, 1, 3))}, "not a tree over 5"),
        ({"n_features": 4}, "not a tree over 5"),
    ]:
        with pytest.raises(ValueError, match=says):
            Forest(tree(**changes), COLUMNS)
