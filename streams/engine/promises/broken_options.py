"""Which open options of people a new model breaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from .promised_options import Array, OpenOption, PromisedOptions, people_of, rows_of
from .screen import certified_distance, path_limit


class Verdict(NamedTuple):
    """The verdict of a new model on a person's open options. Honoured ones are not scored.

    ``margin`` is by how much the least score of the accepted ones exceeds the threshold, None where there is none.
    ``path_limit`` is how far the path of models may go before they are revalidated again.
    """

    promise: PromisedOptions
    accepted: Sequence[OpenOption]
    rejected: Sequence[OpenOption]
    margin: float | None
    path_limit: float

    @property
    def remaining(self) -> tuple[OpenOption, ...]:
        """The options that stay open."""
        return tuple([option for option in self.promise.options if option not in self.rejected])


def states_of(program: Program, people: Sequence[PromisedOptions]) -> Sequence[Array]:
    """The states (n, D) in each of which people's n options must be accepted: the rule by which they were offered."""
    targets = rows_of([option for promise in people for option in promise.options])
    return (targets,) if program.consequences is None else program.states_to_hold(people_of(program, people), targets)


def scores_of(bundle: ModelBundle, states: Sequence[Array]) -> Array:
    """The least scores under a model of n options in their ``states`` (n, D), (n,); 0 where it cannot score one."""
    return np.asarray(np.nan_to_num(np.min([bundle.model.score(people) for people in states], axis=0), nan=0.0))


def verdicts_of(
    program: Program, bundle: ModelBundle, people: Sequence[PromisedOptions], path: float
) -> Iterator[Verdict]:
    """The verdict on the options of each person; ``path`` is the length of the path of models up to this one."""
    if not people:
        return
    options = [option for promise in people for option in promise.options]
    states = states_of(program, people)
    scores = scores_of(bundle, states)
    asked = np.array([not option.honoured for option in options])
    approved = program.approves(scores) & asked
    margins = np.where(approved, scores - program.spec.model.threshold, np.inf)
    distances = np.where(approved, certified_distance(program, bundle, states), np.inf)
    first = np.cumsum([0, *(len(promise.options) for promise in people[:-1])])
    facts = zip(
        people,
        first.tolist(),
        np.logical_and.reduceat(approved, first).tolist(),
        np.minimum.reduceat(margins, first).tolist(),
        np.minimum.reduceat(distances, first).tolist(),
        strict=True,
    )
    for promise, start, is_clean, margin, nearest in facts:
        least = margin if margin < math.inf else None
        limit = path_limit(path, nearest)
        if is_clean:
            yield Verdict(promise, promise.options, (), least, limit)
            continue
        numbers = range(start, start + len(promise.options))
        accepted = [options[index] for index in numbers if approved[index]]
        rejected = [options[index] for index in numbers if asked[index] and not approved[index]]
        yield Verdict(promise, accepted, rejected, least, limit)
