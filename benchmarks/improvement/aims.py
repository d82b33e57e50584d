"""The aims of the defaults in the main comparison, over seeds 0-9 with a random forest."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onward.benchmarks.improvement.methods import Method

NOISES = (0.0, 0.25)
MER: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "posterior": {"Credit": 0.901, "Diabetes": 0.872, "COMPAS": 0.926},
    }
)
"""Mean expected reward by choice: the default where the execution probability is known, and where it is not."""
US = 40.0


def aim(method: Method, data: str, noise: float, metric: str) -> float | None:
    """The aim of a default with its own parameters; None of any other method."""
    if method.title not in MER or noise not in NOISES:
        return None
    return {"mer": MER[method.title].get(data), "us": US}.get(metric)
