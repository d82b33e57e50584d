"""Artefacts that a choice needs beside the decision model. They are fitted with the model and kept in its bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....agents.choices import registry
from ..bundle.writer import FittedVerifier
from .verifier import fit_verifier

Fit = Callable[[Any, NDArray[np.float64], NDArray[np.int64], np.random.RandomState], FittedVerifier]
"""Fits an artefact from the fitted model, people (n, D), their labels (n,) and a random generator."""

ARTEFACTS: Mapping[str, Fit] = {"verifier": fit_verifier}


def needed_artefacts(choice: str) -> frozenset[str]:
    """The names of the artefacts that are fitted for a choice."""
    return registry[choice].needs & ARTEFACTS.keys()


def fit_artefacts(
    choice: str, model: Any, X: NDArray[np.float64], labels: NDArray[np.int64], random: np.random.RandomState
) -> dict[str, FittedVerifier]:
    """Every artefact that a choice needs, by name. ``model`` is the fitted scikit-learn classifier."""
    return {name: ARTEFACTS[name](model, X, labels, random) for name in sorted(needed_artefacts(choice))}
