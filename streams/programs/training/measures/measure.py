"""All measures of a new model."""

from __future__ import annotations

from ...bundle.measured import Data, Measured
from ..trained import Trained
from . import lasting, margin, promise, protected, quality, served


def measure(trained: Trained, data: Data) -> Measured:
    """Every measure of a model whose ``data`` were measured before."""
    return Measured(
        quality.measure(trained),
        data,
        served.measure(trained),
        margin.measure(trained),
        promise.measure(trained),
        lasting.measure(trained),
        protected.measure(trained),
        trained.following.doubts,
    )
