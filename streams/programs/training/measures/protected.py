"""Whether a model reads what a spec protects, and how often that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .....agents.goals import accepted
from .....schemas.encoding import FeatureCodec
from .....schemas.spec import ProgramSpec
from ...bundle.manifest import Manifest
from ..trained import Trained

Floats = NDArray[np.float64]

PEOPLE = 1000
SHIFTS = (1, 2, 3, 5, 8)
"""Everybody gets the value of the person so many rows before them."""


def measure(trained: Trained) -> dict[str, float]:
    """How many decisions a value of each protected feature alone would change, on the ``judged`` rows."""
    return protected_use(trained.codec, trained.model.score, trained.table.X[trained.split.judged])


def protected_use(codec: FeatureCodec, score: Callable[[Floats], Floats], X: Floats) -> dict[str, float]:
    """For every protected or audited feature that the model reads, how many decisions another value alone would change.

    That is a share. Of people (n, D) the first are looked at, each with the values of five others. A feature is read
    when the score of somebody changes.
    """
    people, spec = X[:PEOPLE], codec.spec
    unchanged = score(people)
    approved, shares = accepted(unchanged, spec.model.threshold), {}
    for index, feature in enumerate(spec.features):
        if feature.protected or feature.audit:
            columns = codec.feature_of == index
            scores = [score(np.where(columns, np.roll(people, shift, axis=0), people)) for shift in SHIFTS]
            if not all(np.array_equal(other, unchanged, equal_nan=True) for other in scores):
                changed = [accepted(other, spec.model.threshold) != approved for other in scores]
                shares[feature.name] = float(np.mean(changed))
    return shares


def in_words(manifest: Manifest, _: ProgramSpec) -> Iterator[str]:
    """A line for each feature that the model reads although the spec protects or audits it."""
    for name, share in manifest.measured.protected.items():
        yield (
            f"the model reads {name}, which the spec protects or audits: another value of it alone changes {share:.1%} "
            "of its decisions about people of the data"
        )
