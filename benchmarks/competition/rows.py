"""A figure of the competition: the mean over its episodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.face import Row, progress


def episodes_row(name: str, values: NDArray[np.float64], **more: float | str | None) -> Row:
    """The mean over the episodes that have a number; they are its ``by_seed``."""
    there = {number: float(value) for number, value in enumerate(values) if np.isfinite(value)}
    mean = float(np.mean(list(there.values()))) if there else float("nan")
    progress(f"{name}: {mean:.4g}")
    return Row(name, mean, "", by_seed=there, **more)  # type: ignore[arg-type]
