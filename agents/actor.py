"""The policy of a trained actor on plain arrays, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

Arrays = Mapping[str, NDArray[Any]]

LAYERS = 3


class Actor:
    r"""The mean action of a Gaussian policy, squashed by tanh: a perceptron with two hidden layers of rectifiers.

    An action does not depend on the others in the batch, to the last bit.

    Parameters
    ----------
    arrays
        ``weight_0`` (inputs, H), ``bias_0`` (H,), ``weight_1`` (H, H), ``bias_1`` (H,), ``weight_2`` (H, 2 A) and
        ``bias_2`` (2 A,) for A actions: the last layer gives their means, and then the logarithms of their deviations.

    Raises
    ------
    ValueError
        When an array is missing or is none of an actor's, they do not fit together, or a number is not finite.
    """

    def __init__(self, arrays: Arrays) -> None:
        _check(arrays)
        self._layers = [
            (np.asarray(arrays[f"weight_{k}"], np.float64), np.asarray(arrays[f"bias_{k}"], np.float64))
            for k in range(LAYERS)
        ]
        width = self._layers[0][0].shape[:1]
        for number, (weight, bias) in enumerate(self._layers):
            if weight.ndim != 2 or weight.shape[:1] != width or bias.shape != weight.shape[1:]:
                raise ValueError(f"layer {number} has shapes {weight.shape} and {bias.shape}: they do not fit")
            width = bias.shape
        if width[0] % 2:
            raise ValueError(f"the last layer has {width[0]} numbers: they are a mean and a deviation for each action")

    @property
    def inputs(self) -> int:
        """The number of its inputs."""
        return len(self._layers[0][0])

    @property
    def actions(self) -> int:
        """The number of its outputs."""
        return len(self._layers[-1][1]) // 2

    def mean(self, values: Array) -> Array:
        """The mean actions (n, A) before they are squashed, of what it sees (n, inputs)."""
        for number, (weight, bias) in enumerate(self._layers):
            total = np.repeat(bias[np.newaxis], len(values), axis=0)
            for column, row in zip(values.T, weight, strict=True):  # a product of matrices would depend on the batch
                total += column[:, np.newaxis] * row
            values = np.maximum(total, 0.0) if number < LAYERS - 1 else total
        return values[:, : self.actions]

    def __call__(self, values: Array) -> Array:
        """The actions (n, A) in [-1, 1], of what it sees (n, inputs)."""
        return np.asarray(np.tanh(self.mean(values)))


def _check(arrays: Arrays) -> None:
    """Raise ``ValueError`` where the arrays of an actor are missing, are not alone, or do not hold finite numbers."""
    names = [name for k in range(LAYERS) for name in (f"weight_{k}", f"bias_{k}")]
    missing = [name for name in names if name not in arrays]
    surplus = [name for name in arrays if name not in names]
    if missing or surplus:
        wrong = f"there is no array {missing[0]!r}" if missing else f"there is an array {surplus[0]!r}"
        raise ValueError(f"{wrong}: an actor has weights and biases of {LAYERS} layers")
    for name in names:
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"array {name} does not hold finite numbers")


def load_arrays(file: Path | BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of a file in numpy's format npz, in which nothing may be pickled."""
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays in numpy's format npz, whole or not at all."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    partial.replace(path)
