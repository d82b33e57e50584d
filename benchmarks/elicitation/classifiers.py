"""Classifiers of encoded rows, quick on the lattice of one person."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.components.plan_targets import ScoreLevels

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

CLEARLY = 1e-5
"""A log odds in single precision counts as above 0 from here on."""


class Classifier(ABC):
    """A classifier: recourse is reached where its log odds are above 0."""

    @abstractmethod
    def log_odds(self, inputs: Array) -> Array:
        """The log odds (n,) of encoded rows (n, D)."""

    def on(self, own: Array, blocks: Sequence[tuple[slice, Array]], first: Indices) -> ScoreLevels:
        """The log odds of targets of a person's lattice.

        ``own`` (D,) are the person's inputs. ``blocks`` are the columns of each movable feature with the inputs
        (n, columns) of its levels, the own one first. The levels of each begin at ``first``.
        """

        def score(levels: Indices) -> tuple[Array, NDArray[np.bool_]]:
            rows = np.repeat(own[np.newaxis], len(levels), axis=0)
            for m, (columns, inputs) in enumerate(blocks):
                rows[:, columns] = inputs[levels[:, m] - first[m]]
            found = self.log_odds(rows)
            return found, found > 0.0

        return score


class Network(Classifier):
    """A perceptron with rectifiers.

    Parameters
    ----------
    layers
        Weights (outputs, inputs) and biases.
    """

    def __init__(self, layers: Sequence[tuple[NDArray[np.floating], NDArray[np.floating]]]) -> None:
        self._layers = [(weights.astype(np.float64), bias.astype(np.float64)) for weights, bias in layers]
        self._single = [(weights.T.astype(np.float32), bias.astype(np.float32)) for weights, bias in layers]

    def log_odds(self, inputs: Array) -> Array:
        """The log odds (n,) of encoded rows (n, D)."""
        for number, (weights, bias) in enumerate(self._layers):
            inputs = inputs @ weights.T + bias
            if number < len(self._layers) - 1:
                inputs = np.maximum(inputs, 0.0)
        return inputs[:, 0]

    def on(self, own: Array, blocks: Sequence[tuple[slice, Array]], first: Indices) -> ScoreLevels:
        """The same: the first layer is a sum over features, so each of its terms is computed once."""
        weights, bias = self._layers[0]
        base = (own @ weights.T + bias).astype(np.float32)
        terms = [((inputs - inputs[0]) @ weights[:, columns].T).astype(np.float32) for columns, inputs in blocks]

        def score(levels: Indices) -> tuple[Array, NDArray[np.bool_]]:
            hidden = np.repeat(base[np.newaxis], len(levels), axis=0)
            for m, term in enumerate(terms):
                changed = np.flatnonzero(levels[:, m] != first[m])
                if len(changed) == len(levels):
                    hidden += term[levels[:, m] - first[m]]
                elif len(changed):
                    hidden[changed] += term[levels[changed, m] - first[m]]
            for inner, shift in self._single[1:]:
                # OpenBLAS may say so of finite numbers (numpy issue 24067). What is not finite is refused below.
                with np.errstate(invalid="ignore"):
                    hidden = np.maximum(hidden, 0.0, out=hidden) @ inner
                hidden += shift
            found = hidden[:, 0].astype(np.float64)
            if not np.isfinite(found).all():
                raise FloatingPointError("the log odds of some plans are no finite numbers")
            return found, found > CLEARLY

        return score
