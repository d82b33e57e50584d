"""The slopes of a worst case's slack are its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.promises import Ellipsoid, LpBall

SPREAD = np.random.default_rng(1).normal(size=(5, 5))
STEP = 1e-6


@pytest.mark.parametrize(
    "models", [LpBall(1.0, 1), LpBall(1.0, 1.5), LpBall(1.0, 2), LpBall(1.0, np.inf), Ellipsoid(SPREAD @ SPREAD.T, 1.0)]
)
def test_slopes_are_derivatives(models):
    points = np.random.default_rng(2).uniform(0.1, 1.4, (20, 4))
    numeric = np.stack(
        [(models.norms(points + STEP * axis) - models.norms(points - STEP * axis)) / (2 * STEP) for axis in np.eye(4)],
        axis=1,
    )
    np.testing.assert_allclose(models.slopes(points), numeric, atol=1e-6)
