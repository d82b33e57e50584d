"""The improvement of a bundle: the plain arrays of its method, as a compressed npz file. Arrays can run no code."""

from __future__ import annotations

from typing import NamedTuple

from ....agents.improvement import TrainedImprovement, registry
from .manifest import Calibration
from .model_files import packed, unpacked


class FittedImprovement(NamedTuple):
    """The estimate of whether a change helps, and how far it can be believed."""

    improvement: TrainedImprovement
    calibration: Calibration


def dump_improvement(improvement: TrainedImprovement) -> bytes:
    """The arrays; equal ones give equal bytes."""
    return packed(improvement.arrays())


def load_improvement(content: bytes, method: str, columns: int) -> TrainedImprovement:
    """The improvement of a file, by the name of its method, over ``columns``.

    Raises an error, one line of which says why the file is refused.
    """
    kind = registry.get(method)
    if kind is None:
        raise ValueError(f"there is no method {method!r} that says whether changes help")
    return kind.restore(unpacked(content), columns)
