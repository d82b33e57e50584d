"""Detection of drift in one number a round."""

from __future__ import annotations

import numpy as np

from onward.streams.engine.rounds.drift import KEPT, DriftDetector


def test_a_change_is_told_and_what_was_before_it_is_forgotten():
    random, detector = np.random.default_rng(0), DriftDetector()
    steady = [detector.update(value) for value in random.normal(size=KEPT + 20)]
    assert (any(steady), detector.count[0]) == (False, KEPT)
    changed = [detector.update(value) for value in random.normal(4.0, size=40)]
    assert True in changed[:30]
    assert detector.count[0] < 2 * len(changed)
