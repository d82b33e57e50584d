"""What rooms know of a model: its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""The current model's scores, (n,), of encoded rows (n, D). A row's score does not depend on the other rows."""


@runtime_checkable
class LinearScore(Protocol):
    """A score whose log odds are ``weights`` (D,) times the encoded columns, plus ``bias``."""

    weights: NDArray[np.float64]
    bias: float

    def __call__(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """The scores, (n,), of encoded rows (n, D)."""
