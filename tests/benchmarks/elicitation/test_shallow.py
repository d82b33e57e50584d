"""The classifiers of appendix C, and plans under them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from onward.benchmarks.elicitation.interviews import Belief, play, subjects
from onward.benchmarks.elicitation.population import population
from onward.benchmarks.elicitation.shallow import Leaves, shallow_classifiers
from onward.benchmarks.elicitation.study import Study

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[3].parent / "shared")) / "reference" / "pear"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the authors' data are not at hand")


def test_a_tree_decides_as_scikit_learn_does() -> None:
    random = np.random.default_rng(0)
    inputs = random.random((500, 4))
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(inputs, inputs[:, 0] + inputs[:, 1] > 1.0)
    rows = random.random((500, 4))
    assert ((Leaves(fitted).log_odds(rows) > 0.0) == fitted.predict(rows)).all()


def test_a_population_keeps_fixed_features_together() -> None:
    study = Study(SHARED, "adult")
    users = study.stored_users("all").first(5).rows
    movable = {action.feature for action in study.actions}
    fixed = [feature.name for feature in study.features if feature.name not in movable]
    known = {tuple(user[name] for name in fixed) for user in users}
    rows = population(study, users, 200, np.random.default_rng(0))
    assert {tuple(row[name] for name in fixed) for row in rows} == known
    assert (study.classifier.log_odds(study.encoded(rows)) > 0.0).any()


def test_plans_under_a_shallow_classifier_reach_it() -> None:
    study = Study(SHARED, "adult")
    users = study.stored_users("all")
    for shallow in shallow_classifiers(study, list(users.rows), 0):
        assert shallow.agreement > 0.85
        other = study.under(shallow.classifier)
        few = users.at(np.flatnonzero(other.classifier.log_odds(other.encoded(users.rows)) <= 0.0)[:3])
        belief = Belief.of(other)
        result = play(other, list(subjects(other, few, belief)), belief, "NL")
        assert result.validity == 1.0
        assert result.cost(10) <= result.cost(0)
