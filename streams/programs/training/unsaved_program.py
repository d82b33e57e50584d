"""A program before it has a bundle: what options it would make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....agents.candidates import CandidateGenerator, Proposals
from ....agents.improvement import Improvement
from ....agents.objective import Objective
from ....schemas.encoding import FeatureCodec
from ..objective import generator_of, nu_of, objective_of
from ..program import Features, cost_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Score = Callable[[Floats], Floats]


class UnsavedProgram(NamedTuple):
    """A model with what its program makes options by; ``feature_of`` (D,) is the feature of each column.

    ``keep_rules`` says which encoded rows (n, D) keep the constraints across features, (n,).
    """

    generator: CandidateGenerator
    objective: Objective
    score: Score
    threshold: float
    feature_of: Indices
    keep_rules: Callable[[Floats], NDArray[np.bool_]] = lambda rows: np.ones(len(rows), dtype=np.bool_)

    def best_options(self, proposals: Proposals, people: Floats, most: int) -> tuple[Indices, Floats]:
        """The people and targets, (m,) and (m, D), of everybody's best options, at most ``most`` of each."""
        whose, _, points, point = proposals
        order = np.lexsort((self.objective.loss_of_pairs(points, people, point, whose), whose))
        rank = np.arange(len(order)) - np.searchsorted(whose[order], whose[order])
        kept = order[rank < most]
        return whose[kept], points[point[kept]]

    def changes(self, whose: Indices, targets: Floats, people: Floats) -> Indices:
        """The number of features that each of these options changes, (m,)."""
        of_feature = np.eye(int(self.feature_of.max()) + 1, dtype=bool)[self.feature_of]
        return np.asarray(((targets != people[whose]) @ of_feature).sum(axis=1))


def unsaved_program(
    codec: FeatureCodec,
    score: Score,
    instances: Sequence[Features],
    reference: Sequence[Features],
    improvement: Improvement | None = None,
) -> UnsavedProgram:
    """The program of a codec's spec; ``instances`` and ``reference`` are the raw rows of its bundle."""
    spec = codec.spec
    objective = objective_of(spec, cost_of(codec, reference), nu_of(spec, codec.dimension), improvement, score)
    generator = generator_of(codec, codec.encode_many(instances), objective)
    return UnsavedProgram(generator, objective, score, spec.model.threshold, codec.feature_of, codec.keep_rules)
