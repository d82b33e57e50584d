import numpy as np
from sklearn.ensemble import RandomForestClassifier

from onward.agents.goals import ThresholdGoal


def test_agrees_with_a_forests_own_prediction_also_on_even_votes() -> None:
    generator = np.random.default_rng(0)
    rows, labels = generator.random((60, 3)), generator.integers(0, 2, 60)
    forest = RandomForestClassifier(2, random_state=0).fit(rows, labels)
    score = forest.predict_proba(rows)[:, 1]
    assert (score == 0.5).any()
    assert (ThresholdGoal(0.5).reached(score) == (forest.predict(rows) == 1)).all()
