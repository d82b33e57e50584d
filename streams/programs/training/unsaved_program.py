"""A program before it has a bundle: what options it would make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ....agents.candidates import CandidateGenerator, Proposals, Space, Vetting
from ....agents.goals import Goal
from ....agents.improvement import Improvement
from ....agents.objective import Objective
from ....schemas.encoding import FeatureCodec
from ....schemas.spec import Policy
from ..consequences import consequences_of
from ..effects import Fitted
from ..objective import generator_of, nu_of, objective_of, vetting_of
from ..program import Features, cost_of
from ..space import space_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Score = Callable[[Floats], Floats]


class UnsavedProgram(NamedTuple):
    """A model with what its program makes options by, and the ``policy`` that says what people are told of.

    ``retrains`` are the scores of those that stand beside the model.
    """

    generator: CandidateGenerator
    space: Space
    objective: Objective
    score: Score
    threshold: float
    policy: Policy = Policy()
    retrains: Sequence[Score] = ()

    def vetting_under(self, score: Score, goal: Goal) -> Vetting:
        """The options of people whose scores are to reach a goal."""
        return vetting_of(self.policy, self.space, self.generator, self.objective, score, goal, self.retrains)

    def best_options(self, proposals: Proposals, people: Floats, most: int) -> tuple[Indices, Floats]:
        """The people and targets, (m,) and (m, D), of everybody's best options, at most ``most`` of each."""
        owner, _, points, point = proposals
        order = np.lexsort((self.objective.loss_of_pairs(points, people, point, owner), owner))
        rank = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
        kept = order[rank < most]
        return owner[kept], points[point[kept]]

    def changes(self, owner: Indices, targets: Floats, people: Floats) -> Indices:
        """The number of features that each of these options changes, (m,)."""
        feature_of = self.space.feature_of
        of_feature = np.eye(int(feature_of.max()) + 1, dtype=bool)[feature_of]
        does = self.objective.acted(targets, people[owner])
        return np.asarray(((does != people[owner]) @ of_feature).sum(axis=1))


def unsaved_program(
    codec: FeatureCodec,
    score: Score,
    instances: Sequence[Features],
    reference: Sequence[Features],
    improvement: Improvement | None = None,
    effects: Fitted = UNSET,
) -> UnsavedProgram:
    """The program of a codec's spec; ``instances`` and ``reference`` are the raw rows of its bundle, ``effects`` those
    that were fitted."""
    spec, consequences = codec.spec, consequences_of(codec, effects)
    space, cost, nu = space_of(codec, consequences), cost_of(codec, reference), nu_of(spec, codec.dimension)
    objective = objective_of(spec, cost, nu, improvement, score, consequences)
    generator = generator_of(spec.policy, space, codec.encode_many(instances), objective)
    return UnsavedProgram(generator, space, objective, score, spec.model.threshold, spec.policy)
