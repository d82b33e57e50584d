"""The open options that a new model certainly accepts: found without looking at them.

Every new model adds to its program's *path* of models the distance from the model before it. All models within an
option's *certified distance* accept it, so it is not looked at until the path has grown by more: by the triangle
inequality no model until then is farther away. The promise says both distances. For linear scores they are by their
parameters. Under other scores nothing is certain, and each new model means that all options are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....agents.promises.ball import SAFETY_FACTOR
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program

Array = NDArray[np.float64]

FARTHEST = 1000.0
"""The largest certified distance. A model that cannot be compared with the one before it is twice as far."""


def distance(program: Program, old: ModelBundle, new: ModelBundle) -> float:
    """How far a new model is from the one before it."""
    if old.manifest_sha256 == new.manifest_sha256:
        return 0.0
    return min(program.promise.distance(old.model.score, new.model.score), 2.0 * FARTHEST)


def certified_distance(program: Program, bundle: ModelBundle, states: Sequence[Array]) -> Array:
    """How far from a model others may be that certainly accept each of n options which it accepts, (n,).

    An option is accepted in each of its ``states`` (n, D): ``Program.states_to_hold``.
    """
    promise, score, threshold = program.promise, bundle.model.score, program.spec.model.threshold
    certified = np.min([promise.certified_distance(people, score, threshold) for people in states], axis=0)
    return np.asarray(np.clip(SAFETY_FACTOR * np.nan_to_num(certified, nan=0.0), 0.0, FARTHEST))


def path_limit(path: float, distance: float) -> float:
    """The length of the path up to which options with this certified distance need not be looked at again."""
    return max(path + distance, math.nextafter(path, math.inf))
