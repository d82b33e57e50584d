"""What a program whose options are to help expects of recourse instances, in ARLIM's worlds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.agents.costs import L1
from onward.agents.costs.effort import assumed_effort
from onward.agents.improvement import LabelPrior
from onward.agents.objective import Objective
from onward.agents.options import Outlook
from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Outlooks:
    """The outlook of each person's instances, by a label prior of the rows that the world's model was trained on."""

    def __init__(self, world: StudiedWorld, spec: ProgramSpec, seed: int) -> None:
        assert world.training is not None, "the world is made of its data"
        codec = FeatureCodec(spec)
        self._world, self._people, self._of = world, world.distinct, {}
        first = {int(row): t for t, row in reversed(list(enumerate(world.row_of)))}
        options = [world.feasible(first[row]) for row in range(len(self._people))]
        execution = [world.execution(first[row])[own] for row, own in enumerate(options)]
        ends = np.cumsum([0, *map(len, options)])
        objective = Objective(L1(), 1.0 / codec.dimension, LabelPrior.fit(*world.training, seed))
        targets = world.points[np.concatenate(options)]
        found = objective.outlook(self._people, targets, ends, np.concatenate(execution), codec.feature_of)
        assert found is not None, "the data have rows of each label"
        for row, own in enumerate(options):
            self._of[row] = own, found.subset(slice(ends[row], ends[row + 1]))

    def __call__(self, t: int, instances: Indices, execution: Floats) -> Outlook:
        """That of some of application t's instances (F,), with the execution probabilities (F,) that are told."""
        all_of, outlook = self._of[int(self._world.row_of[t])]
        own = outlook.subset(np.searchsorted(all_of, instances))
        told = assumed_effort(execution)
        total = own.effort.sum(axis=1)
        scale = np.divide(told, total, out=np.zeros_like(told), where=total > 0.0)
        return own._replace(effort=own.effort * scale[:, np.newaxis])
