"""Seeds of estimators that are fitted again."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_SEED = 2**32 - 1
"""The largest seed that numpy's ``RandomState`` takes."""


def seeded(estimator: Any, seed: int | np.random.RandomState) -> Any:
    """The estimator itself, with ``seed`` in each of its random states: its own, and those of estimators inside it."""
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, seed))
