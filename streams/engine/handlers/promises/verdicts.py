"""What a new model says of people's open options."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ....programs.program import Program
from ...promises.recourse import OpenOption, OpenRecourse, rows_of
from ...promises.screen import certified_distance, path_limit
from ...state import CurrentModel


class Verdict(NamedTuple):
    """What a new model says of a person's open options.

    ``margin`` is by how much the least score of the accepted ones exceeds the threshold, None where there is none.
    ``path_limit`` is how far the path of models may go before these are looked at again.
    """

    recourse: OpenRecourse
    accepted: Sequence[OpenOption]
    rejected: Sequence[OpenOption]
    margin: float | None
    path_limit: float

    @property
    def is_clean(self) -> bool:
        """Whether the model accepts all options."""
        return len(self.accepted) == len(self.recourse.options)

    @property
    def remaining(self) -> tuple[OpenOption, ...]:
        """The options that stay open."""
        return tuple([option for option in self.recourse.options if option not in self.rejected])


def verdicts_of(
    program: Program, model: CurrentModel, people: Sequence[OpenRecourse], path: float
) -> Iterator[Verdict]:
    """The verdict on each of these people; ``path`` is the length of the path of models up to this one."""
    if not people:
        return
    options = [option for recourse in people for option in recourse.options]
    targets = rows_of(options)
    scores = np.nan_to_num(model.bundle.model.score(targets), nan=0.0)
    asked = np.array([not option.honoured for option in options])
    approved = program.approves(scores) & asked
    margins = np.where(approved, scores - program.spec.model.threshold, np.inf)
    distances = np.where(approved, certified_distance(program, model.bundle, targets), np.inf)
    first = np.cumsum([0, *(len(recourse.options) for recourse in people[:-1])])
    facts = zip(
        people,
        first.tolist(),
        np.logical_and.reduceat(approved, first).tolist(),
        np.minimum.reduceat(margins, first).tolist(),
        np.minimum.reduceat(distances, first).tolist(),
        strict=True,
    )
    for recourse, start, is_clean, margin, nearest in facts:
        least = margin if margin < math.inf else None
        limit = path_limit(path, nearest)
        if is_clean:
            yield Verdict(recourse, recourse.options, (), least, limit)
            continue
        own = range(start, start + len(recourse.options))
        accepted = [options[index] for index in own if approved[index]]
        rejected = [options[index] for index in own if asked[index] and not approved[index]]
        yield Verdict(recourse, accepted, rejected, least, limit)
