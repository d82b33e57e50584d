"""How many rejected people a new model leaves without an option, and how many features the options change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from ....agents import candidates, goals
from ....agents.candidates import Proposals
from ....agents.costs import Cost
from ....schemas.encoding import FeatureCodec
from ...advice import MANY_CHANGES
from ..program import Features, cost_of, margin_of
from ..space import space_of

Floats = NDArray[np.float64]

PEOPLE = 50
"""Rejected people who are looked at."""


def measure_served(
    codec: FeatureCodec,
    score: Callable[[Floats], Floats],
    instances: Sequence[Features],
    reference: Sequence[Features],
    measured: float | UnsetType,
    rejected: Floats,
) -> Mapping[str, float]:
    """What the program of a codec's spec can propose to the first of some ``rejected`` people (n, D).

    ``rejected_sampled`` is their number, ``without_option`` the share without an option, and
    ``without_option_at_threshold`` the same for the bare threshold. Of everybody's cheapest options, as many as the
    spec allows, ``many_changes`` is the share with more than ``MANY_CHANGES``. ``measured`` is the model's margin. The
    result is empty where nobody is rejected.
    """
    people = rejected[:PEOPLE]
    if not len(people):
        return {}
    spec, cost = codec.spec, cost_of(codec, reference)
    generator = candidates.registry[spec.policy.generator].build(space_of(codec), codec.encode_many(instances), cost)
    goal, threshold, margin = goals.registry[spec.policy.goal], spec.model.threshold, margin_of(spec, measured)
    proposals = generator.under(score, goal(threshold, margin)).propose(people)
    without = np.setdiff1d(np.arange(len(people)), proposals.people)
    facts = {"rejected_sampled": float(len(people)), "without_option": len(without) / len(people)}
    if margin:
        served = generator.under(score, goal(threshold)).propose(people[without]).people
        facts["without_option_at_threshold"] = (len(without) - len(np.unique(served))) / len(people)
    if len(proposals.people):
        changes = _changes(_cheapest(proposals, cost, people, spec.policy.options), people, codec.feature_of)
        facts["many_changes"] = float((changes > MANY_CHANGES).mean())
    return facts


def _cheapest(proposals: Proposals, cost: Cost, people: Floats, most: int) -> tuple[NDArray[np.intp], Floats]:
    """The people and targets, (m,) and (m, D), of everybody's cheapest options, at most ``most`` of each."""
    whose, _, points, point = proposals
    order = np.lexsort((cost.of_pairs(points, people, point, whose), whose))
    rank = np.arange(len(order)) - np.searchsorted(whose[order], whose[order])
    kept = order[rank < most]
    return whose[kept], points[point[kept]]


def _changes(
    options: tuple[NDArray[np.intp], Floats], people: Floats, feature_of: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The number of features that each option changes, (m,)."""
    whose, targets = options
    of_feature = np.eye(int(feature_of.max()) + 1, dtype=bool)[feature_of]
    return np.asarray(((targets != people[whose]) @ of_feature).sum(axis=1))
