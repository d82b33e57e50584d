"""The smallest relaxation of a program's rules that gives a person an option."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract import Array, Indices, Mask, Space
from .grid import Grid, StepLimits, Steps, spread, without_each_change
from .judge import NUMBERS
from .relaxations import KINDS, Relaxation

TRIED = 3
"""Relaxations that are tried, from the smallest on."""
BETWEEN = 64
"""Values between the rule and a value beyond it that are scored, to find the nearest that is enough."""
MOST_ROWS = 3000
"""Rows that are scored for a kind of rule."""
PLACES = 12
"""Most values of a feature beyond a rule that are scored, on either side."""


class Relaxed(NamedTuple):
    """The rules of which one ``kind`` gives way as far as makes sense: the space, and its grid.

    So many of its steps make a step of the rules: ``factor`` (M,), for each movable feature.
    """

    kind: Relaxation
    space: Space
    grid: Grid
    factor: Steps


Near = Callable[[Relaxed], Steps]
"""Rows (R, M) near the rules, in the steps of relaxed ones."""


class Unserved(NamedTuple):
    """A person (D,) without an option, and what would be one.

    ``valid`` says which encoded rows (n, D) reach the goal and keep the constraints across features, (n,). ``options``
    are those, encoded (R, D), that the generator proposes under other rules. ``relaxed`` are the rules, each kind
    relaxed.
    """

    space: Space
    relaxed: Sequence[Relaxed]
    person: Array
    valid: Callable[[Array], Mask]
    options: Callable[[Space], Array]


class _Miss(NamedTuple):
    """A target that is an option but for one rule of one movable feature: by how much, in shares of its range."""

    size: float
    relaxed: Relaxed
    feature: int
    steps: Steps


def smallest_relaxation(unserved: Unserved, *sources: Near) -> str:
    """The relaxation that gives the person an option, in words; nothing where none is found.

    The size of a relaxation is how far its option lies outside the rules, in shares of the features' ranges; one more
    change counts the smallest change of its option. ``sources`` give rows near the rules; each is asked where those
    before it lead to nothing. A relaxation is named only if the generator then proposes an option.
    """
    more, size = _more_changes(unserved)
    for near in sources:
        for miss in sorted(_misses(unserved, near), key=lambda miss: (miss.size, miss.feature))[:TRIED]:
            if miss.size < size and (text := _helping(unserved, miss)):
                return text
    return more


def relaxed_rules(space: Space) -> Sequence[Relaxed]:
    """The rules of a space, each kind of them relaxed that it has."""
    grid, rules = Grid(space), []
    for kind in KINDS:
        other = kind.all_features(space)
        if other.mutable == space.mutable and all(map(np.array_equal, _numbers(other), _numbers(space))):
            continue
        factor = np.where(kind.divided(space)[grid.features], kind.divisor, 1)
        rules.append(Relaxed(kind, other, Grid(other), factor))
    return tuple(rules)


def _numbers(space: Space) -> Iterator[Array]:
    yield space.smallest_change
    yield from space.ranges


def neighbours(
    bases: Steps, most_changes: int, limits: StepLimits, wide: StepLimits, factor: NDArray[np.int64]
) -> Steps:
    """Rows (R, M) that differ from a base (B, M) in one feature, which goes where the relaxed limits alone let it.

    They change at most ``most_changes`` features. The bases and ``limits`` are in steps of the rules, the rows and
    ``wide`` in those of the relaxed ones.
    """
    # Of thousands of features each has a few places.
    most = max(1, NUMBERS // max(1, len(factor)) ** 2)
    places = []
    for feature in range(len(factor)):
        beyond = _steps_beyond(
            limits.fewest[feature] * factor[feature], limits.most[feature] * factor[feature], wide, feature
        )
        counted = beyond + _parts_of_steps(wide, feature, factor.item(feature))
        places += [(feature, count) for count in counted[:: math.ceil(len(counted) / most) or 1]]
    if not places:
        return np.zeros((0, len(factor)), dtype=np.int64)
    features, counts = np.array(places, dtype=np.int64).T
    kept = bases[: max(1, MOST_ROWS // len(places))] * factor
    rows = np.repeat(kept, len(places), axis=0)
    rows[np.arange(len(rows)), np.tile(features, len(kept))] = np.tile(counts, len(kept))
    return np.asarray(rows[(rows != 0).sum(axis=1) <= most_changes])


def _steps_beyond(fewest: int, most: int, wide: StepLimits, feature: int) -> list[int]:
    """Steps of a feature beyond its limits, from the nearest on."""
    below, above = int(fewest - wide.fewest[feature]), int(wide.most[feature] - most)
    return [int(fewest) - step for step in spread(below, PLACES)] + [int(most) + step for step in spread(above, PLACES)]


def _parts_of_steps(wide: StepLimits, feature: int, factor: int) -> list[int]:
    """Parts of steps of a feature that is counted in them."""
    ends = (-1, -int(wide.fewest[feature])), (1, int(wide.most[feature]))
    counts = [sign * step for sign, end in ends for step in spread(end, PLACES)]
    return [count for count in counts if count % factor]


def _misses(unserved: Unserved, near: Near) -> Iterator[_Miss]:
    """For every kind of rule and every feature the smallest miss among the rows near the rules."""
    space, person, valid = unserved.space, unserved.person, unserved.valid
    limits = Grid(space).limits(person)
    for relaxed in unserved.relaxed:
        rows, grid, factor = near(relaxed), relaxed.grid, relaxed.factor
        sizes = _sizes(rows, limits, factor, grid)
        alone = np.flatnonzero((sizes > 0.0).sum(axis=1) == 1)
        if not len(alone):
            continue
        alone = alone[valid(grid.targets(person, rows[alone]))]
        for feature in np.flatnonzero((sizes[alone] > 0.0).any(axis=0)).tolist():
            missing = alone[sizes[alone, feature] > 0.0]
            best = missing[sizes[missing, feature].argmin()]
            miss = _Miss(sizes[best, feature].item(), relaxed, feature, rows[best])
            yield _nearest(unserved, miss, limits)


def _sizes(rows: Steps, limits: StepLimits, factor: NDArray[np.int64], grid: Grid) -> Array:
    """The distance of each row's features from what the own limits allow, in shares of their ranges, (R, M)."""
    _, _, step, _, _, scale = grid.layout
    nearest = np.rint(rows / factor).clip(limits.fewest, limits.most) * factor
    return np.asarray(np.abs(rows - nearest) * step / scale)


def _nearest(unserved: Unserved, miss: _Miss, limits: StepLimits) -> _Miss:
    """The miss with the value nearest to the rule that is enough."""
    _, _, grid, factor = miss.relaxed
    feature, missed = miss.feature, int(miss.steps[miss.feature])
    allowed = int(
        np.rint(missed / factor[feature]).clip(limits.fewest[feature], limits.most[feature]) * factor[feature]
    )
    counts = np.unique(np.linspace(allowed, missed, BETWEEN + 1).round().astype(np.int64))
    rows = np.repeat(miss.steps[np.newaxis], len(counts), axis=0)
    rows[:, feature] = counts
    sizes = _sizes(rows, limits, factor, grid)
    enough = np.flatnonzero((sizes[:, feature] > 0.0) & unserved.valid(grid.targets(unserved.person, rows)))
    best = enough[sizes[enough, feature].argmin()]
    return miss._replace(size=sizes[best, feature].item(), steps=rows[best])


def _helping(unserved: Unserved, miss: _Miss) -> str:
    """A relaxation in words; nothing where the generator proposes no option under it."""
    space, person, (kind, _, grid, _) = unserved.space, unserved.person, miss.relaxed
    target = grid.targets(person, miss.steps[np.newaxis])
    feature, own, value = (
        grid.features[miss.feature],
        *(grid.raw(row)[miss.feature].item() for row in (person, target[0])),
    )
    if not len(unserved.options(kind.relaxed_space(space, feature, own, value))):
        return ""
    return f"it would help if {space.feature_names[feature]} {kind.words(space, feature, own, value)}"


def _more_changes(unserved: Unserved) -> tuple[str, float]:
    """The sentence that one more change would help, and the size of the smallest change of its options."""
    space, person = unserved.space, unserved.person
    grid = Grid(space)
    most = space.max_changes or len(grid.features)
    if most >= len(grid.features):
        return "", np.inf
    options = unserved.options(space._replace(max_changes=most + 1))
    if not len(options):
        return "", np.inf
    sizes = grid.sizes(person, options)
    return f"it would help if {most + 1} features could change", np.where(sizes > 0.0, sizes, np.inf).min().item()


def best_rows(steps: Steps, score: Array, most_changes: int, count: int) -> Steps:
    """Rows (B, M) from which a rule may be broken: those of the best scores, also with room for one more change."""
    changes = (steps != 0).sum(axis=1)
    order = np.argsort(-score, kind="stable")
    free = order[changes[order] < most_changes]
    best: Indices = np.concatenate([order[:count], free[:count]])
    start = np.zeros((1, steps.shape[1]), dtype=np.int64)
    rows = np.concatenate([steps[best], without_each_change(steps[order[:count]]), start])
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]
