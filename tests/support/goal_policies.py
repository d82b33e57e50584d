"""Policies of the learned goal that nobody has trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.agents.actor import save_arrays
from onward.agents.goals.sac import INPUTS


def constant(action: float) -> dict[str, NDArray[Any]]:
    """The arrays of a policy that always does the same, before it is squashed."""
    sizes = [(INPUTS, 4), (4, 4), (4, 2)]
    arrays = {f"weight_{k}": np.zeros(size) for k, size in enumerate(sizes)}
    return arrays | {f"bias_{k}": np.zeros(size[1]) for k, size in enumerate(sizes)} | {"bias_2": np.array([action, 0])}


def untrained(seed: int) -> dict[str, NDArray[Any]]:
    """The arrays of a policy with random weights."""
    random, sizes = np.random.default_rng(seed), [(INPUTS, 8), (8, 8), (8, 2)]
    arrays = {f"weight_{k}": random.normal(0, 0.3, size) for k, size in enumerate(sizes)}
    return arrays | {f"bias_{k}": random.normal(0, 0.3, size[1]) for k, size in enumerate(sizes)}


def written(file: Path, arrays: dict[str, NDArray[Any]]) -> Path:
    """The file that holds the arrays of a policy."""
    save_arrays(file, arrays)
    return file
