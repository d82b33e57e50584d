"""Which open options a new model certainly accepts: found without looking at them.

Every new model adds to its program's *path* of models the distance from the model before it. All models within an
option's *certified distance* accept it, so it is not looked at until the path has grown by more: by the triangle
inequality no model until then is farther away. For linear scores the distance is that of their parameters, and the
certified distance is ``alpha_max``. Under other scores nothing is certain, and each new model means that all options
are looked at.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....agents.promises import LpBall, alpha_max
from ....agents.promises.ball import logit
from ....agents.promises.open_options import SAFETY_FACTOR
from ....agents.scores import LinearScore
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program

Array = NDArray[np.float64]

FARTHEST = 1000.0
"""The largest certified distance, in log odds. Another model that is no linear score is twice as far."""


def distance(program: Program, old: ModelBundle, new: ModelBundle) -> float:
    """How far a new model is from the one before it."""
    before, after = old.model.score, new.model.score
    if old.manifest_sha256 == new.manifest_sha256:
        return 0.0
    if not isinstance(before, LinearScore) or not isinstance(after, LinearScore):
        return 2.0 * FARTHEST
    moved = _ball(program).drift((after.weights - before.weights)[np.newaxis], np.array([after.bias - before.bias]))
    return float(min(moved.item(), 2.0 * FARTHEST))


def certified_distance(program: Program, bundle: ModelBundle, targets: Array) -> Array:
    """How far from a model others may be that certainly accept each of the targets (n, D) that it accepts, (n,)."""
    score = bundle.model.score
    if not isinstance(score, LinearScore):
        return np.full(len(targets), FARTHEST)
    norms, required = _ball(program).norms(targets), logit(program.spec.model.threshold)
    found = alpha_max(targets, norms, score.weights, score.bias, required)
    return np.asarray(np.clip(SAFETY_FACTOR * np.nan_to_num(found, nan=0.0), 0.0, FARTHEST))


def path_limit(path: float, distance: float) -> float:
    """The length of the path up to which options with this certified distance need not be looked at again."""
    return max(path + distance, math.nextafter(path, math.inf))


def _ball(program: Program) -> LpBall:
    norm = program.spec.promise.norm
    return LpBall(0.0, math.inf if norm == "inf" else norm)
