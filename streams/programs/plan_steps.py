"""The steps of a plan as a person reads them: raw values, and why each has its place in the order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ...agents.candidates import PlanSteps
from ...agents.costs import Cost, CostStructure
from ...schemas.encoding import FeatureCodec, FilledValues, Values
from ...schemas.events import Step
from .program import Program

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST_EASE = 0.01
"""Of what a step costs: an order that saves less is no reason."""


def steps_of(
    program: Program,
    values: Values,
    person: Array,
    plan: PlanSteps,
    cost: Cost,
    weights: Array | None,
) -> tuple[Step, ...] | UnsetType:
    """The k steps of a plan; unset where their order does not count and each feature changes once.

    Parameters
    ----------
    values, person
        The person's raw values, and the same encoded, (D,).
    plan
        The features of the steps, and the encoded rows after them.
    weights
        What the weights of a ``cost`` with a structure are thought to be, (P,); None of another cost.
    """
    structure, (feature, rows, _) = cost.structure, plan
    changed = set(feature.tolist())
    linked = structure is not None and any(changed.issuperset(edge) for edge in structure.edges)
    if not linked and len(changed) == len(feature):
        return UNSET
    reasons: list[_Reasons] = [(UNSET, UNSET)] * len(feature)
    if structure is not None and weights is not None:
        names = [known.name for known in program.spec.features]
        reasons = list(_reasons(names, structure, weights, feature, _ordered_values(program.codec, person, rows)))
    targets, now, given = program.codec.codes(rows), list(values), _absent(values)
    steps = []
    for at, number in enumerate(feature.tolist()):
        known, target = program.spec.features[number], program.codec.value(number, targets[at, number].item())
        first_of_absent = False if number in given else UNSET
        after, before = reasons[at]
        steps.append(
            Step(known.name, now[number], target, known.unit, first_of_absent, easier_after=after, easier_before=before)
        )
        now[number] = target
        given.discard(number)
    return tuple(steps)


_Reasons = tuple[tuple[str, ...] | UnsetType, tuple[str, ...] | UnsetType]


def _absent(values: Values) -> set[int]:
    """The numbers of the features that the application did not give."""
    return set(values.absent) if isinstance(values, FilledValues) else set()


def _ordered_values(codec: FeatureCodec, person: Array, rows: Array) -> Array:
    """The values that influence costs, (k + 1, F), before each step and after the last: 1 for categories."""
    states = np.concatenate([person[np.newaxis], rows])
    first = np.searchsorted(codec.feature_of, np.arange(len(codec.features)))
    is_one_hot = np.bincount(codec.feature_of) > 1
    return np.where(is_one_hot, 1.0, states[:, first])


def _reasons(
    names: list[str], structure: CostStructure, weights: Array, feature: Indices, states: Array
) -> Iterator[_Reasons]:
    """For each step the features whose earlier changes make it easier, and those whose later ones make it harder."""
    size = np.abs(np.diff(states, axis=0)[np.arange(len(feature)), feature])
    # Another category is a change of size 1, and no change of a value.
    size[size == 0.0] = 1.0
    least = LEAST_EASE * np.abs(structure.coefficients(feature, size, states[:-1]) @ weights)
    for at, number in enumerate(feature.tolist()):
        after, before = [], []
        for parent, weight in structure.influences(number):
            done, left = states[at, parent] - states[0, parent], states[-1, parent] - states[at, parent]
            if -weights[weight] * done > least[at]:
                after.append(names[parent])
            if weights[weight] * left > least[at]:
                before.append(names[parent])
        yield tuple(after) or UNSET, tuple(before) or UNSET
