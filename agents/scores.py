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


@runtime_checkable
class WorstCase(Protocol):
    """A score whose log odds are those of a ``linear`` one, less a ``slack`` that depends on the row alone."""

    linear: LinearScore

    def __call__(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """The scores, (n,), of encoded rows (n, D)."""

    def slack(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """By how much the log odds of encoded rows (n, D) are below the linear ones, (n,), 0 or more."""

    def slopes(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """How fast the slack grows with each column, (n, D), at encoded rows (n, D)."""


@runtime_checkable
class SeveralModels(Protocol):
    """The score that several models reach; ``models_in_words`` says which, as in "a score above .5 under them"."""

    models_in_words: str

    def __call__(self, X: NDArray[np.float64], /) -> NDArray[np.float64]:
        """The scores, (n,), of encoded rows (n, D)."""


def models_in_words(score: Score) -> str:
    """Under which models a score is reached, after a space; nothing for that of the current model alone."""
    return f" {score.models_in_words}" if isinstance(score, SeveralModels) else ""
