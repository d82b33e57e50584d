"""TAP's verifier in a world, with all its answers there worked out beforehand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.improvement.choices import FittedVerifier, Verifier, fit_verifier
from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.streams.errors import UsageError

Floats = NDArray[np.float64]


def fit(world: StudiedWorld, seed: int) -> FittedVerifier:
    """The verifier of a world's model; worlds of the same model and seed have the same."""
    if world.training is None:
        raise UsageError("tap needs the rows that the world's model was trained on, which this world does not hold")
    return fit_verifier(world.estimator, *world.training, np.random.RandomState(seed))


def look_up(fitted: FittedVerifier, world: StudiedWorld) -> Verifier:
    """The verifier in a world of that model, with precomputed answers: a forest takes as long for a few rows as for
    thousands."""
    first = {world.person(t).tobytes(): t for t in range(world.people)}.values()
    people = np.array([world.person(t) for t in first])
    pairs = np.concatenate([_pairs(world, t) for t in first])
    return Verifier(
        _looked_up(fitted.estimator.predict_proba, pairs),
        _looked_up(world.estimator.predict_proba, np.concatenate([people, world.points])),
        fitted.tolerance,
    )


def _pairs(world: StudiedWorld, t: int) -> Floats:
    points = world.points[world.feasible(t)]
    return np.concatenate([np.broadcast_to(world.person(t), points.shape), points], axis=1)


def _looked_up(predict: Callable[[Floats], Floats], rows: Floats) -> Callable[[Floats], Floats]:
    known = dict(zip((row.tobytes() for row in rows), predict(rows)[:, 1].tolist(), strict=True))
    return lambda asked: np.array([known[row.tobytes()] for row in asked])
