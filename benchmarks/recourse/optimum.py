"""The generators beside an exhaustive search, on grids that are coarse enough for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from onward.agents.candidates import CandidateGenerator, Mutable, Space, registry
from onward.agents.candidates.components.grid import Grid, are_few, every_target
from onward.agents.candidates.contract import Score
from onward.agents.costs import L1
from onward.agents.goals import Goal, ThresholdGoal
from onward.agents.objective import Objective
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import Case, Floats, Options, cheapest
from onward.benchmarks.recourse.figures import AIM_COST_RATIO, AIM_NONE_ABOVE, figures, row
from onward.streams.programs.space import space_of

GENERATORS = ("search", "adapted")
STEPS = (7, 5, 4, 3, 2, 1)
MOST_TARGETS = 20_000
"""Everybody is searched on the finest grid of STEPS steps in a range that has at most MOST_TARGETS targets."""
MARGIN = 0.2
"""With a margin some people of many specs have no option, which a search must not find too often."""
CHANGES = (2, 3, 4)


class Gap(NamedTuple):
    """What a generator misses: people, those of them whom it gives no option although there is one, those for whom
    there is none, and the costs of the others with the least possible ones."""

    people: int
    missed: int
    impossible: int
    cost: float
    least_cost: float

    @property
    def none_above(self) -> float:
        """The share of people who have an option that was not found."""
        return self.missed / self.people

    @property
    def cost_ratio(self) -> float:
        """The mean cost beside the optimum's, of those for whom both found one."""
        return self.cost / self.least_cost if self.least_cost else 1.0

    @classmethod
    def between(cls, found: Options, best: Options, people: int) -> Gap:
        """The gap between a generator's options and the optimum of the same people."""
        _, here, there = np.intersect1d(found.people, best.people, return_indices=True)
        costs = float(found.cost[here].sum()), float(best.cost[there].sum())
        return cls(people, len(best.people) - len(here), people - len(best.people), *costs)


def beside_the_optimum(space: Space, case: Case, title: str, people: int) -> Iterator[Row]:
    """The figures of one spec: the exhaustive search's, and those of the generators with the cost beside it."""
    case, goal = case._replace(people=case.people[:people]), ThresholdGoal(0.5)
    spaces, title = [_finest(space, person) for person in case.people], f"{title}, coarse grids"
    best = _optima(spaces, case, goal)
    yield from figures(title, "exhaustive", case, best)
    none = 1 - len(best.people) / len(case.people)
    for name in GENERATORS:
        found = _options(name, spaces, case, goal)
        for one in figures(title, name, case, found, aims=("changes",)):
            is_none = one.name.endswith("none")
            yield Row(
                one.name, one.value, one.unit, aim=none + AIM_NONE_ABOVE if is_none else one.aim, better=one.better
            )
        gap = Gap.between(found, best, len(case.people))
        yield row(title, name, "cost / optimum", gap.cost_ratio, "x", AIM_COST_RATIO)


def sweep(case: Case, people: int, most_immutable: int, seed: int) -> Iterator[Row]:
    """The gaps of all specs with 0 to ``most_immutable`` immutable features, with and without directions."""
    case, goal = case._replace(people=case.people[:people]), ThresholdGoal(0.5, MARGIN)
    gaps: dict[str, list[Gap]] = {name: [] for name in GENERATORS}
    for space in _drawn_specs(case, most_immutable, seed):
        spaces = [_finest(space, person) for person in case.people]
        best = _optima(spaces, case, goal)
        for name in GENERATORS:
            gaps[name].append(Gap.between(_options(name, spaces, case, goal), best, len(case.people)))
    for name, of_specs in gaps.items():
        yield from _sweep_rows(f"{case.title}, {len(of_specs)} specs of {len(case.people)} people", name, of_specs)


def _sweep_rows(title: str, name: str, gaps: Sequence[Gap]) -> Iterator[Row]:
    total = Gap(*(sum(column) for column in zip(*gaps, strict=True)))
    progress(f"{title}, {name}: {total.missed} of {total.people} missed, cost {total.cost_ratio:.3f} x")
    yield row(title, name, "exhaustive none", total.impossible / total.people, "share")
    yield row(title, name, "none above it", total.none_above, "share", AIM_NONE_ABOVE)
    yield row(title, name, "worst spec", max(gap.none_above for gap in gaps), "share")
    yield row(title, name, "cost / optimum", total.cost_ratio, "x", AIM_COST_RATIO)
    yield row(title, name, "worst spec's", max(gap.cost_ratio for gap in gaps), "x")


def _options(name: str, spaces: Sequence[Space], case: Case, goal: Goal) -> Options:
    """The cheapest option that a generator proposes to each of the case's people, each in their own space."""
    generators = [
        registry[name].build(space, case.instances, Objective(L1())).under(case.score, goal) for space in spaces
    ]
    return _of_each(case, [partial(_proposed, generator) for generator in generators])


def _optima(spaces: Sequence[Space], case: Case, goal: Goal) -> Options:
    """The cheapest of all targets of each of the case's people, scored one and all."""
    return _of_each(case, [partial(_valid, space, case.score, goal) for space in spaces])


def _of_each(case: Case, asked: Sequence[Callable[[Floats], Floats]]) -> Options:
    """The cheapest of the targets (P, D) that each of the case's people (D,) is given by a call of their own."""
    started = time.process_time()
    found = [ask(person) for ask, person in zip(asked, case.people, strict=True)]
    seconds = time.process_time() - started
    whose = np.repeat(np.arange(len(found)), [len(targets) for targets in found])
    return cheapest(case.source.codec, case.people, whose, np.concatenate([case.people[:0], *found]), seconds)


def _proposed(generator: CandidateGenerator, person: Floats) -> Floats:
    proposals = generator.propose(person[np.newaxis])
    targets: Floats = proposals.points[proposals.point]
    return targets


def _valid(space: Space, score: Score, goal: Goal, person: Floats) -> Floats:
    grid = Grid(space)
    rows = grid.targets(person, every_target(grid.limits(person), space.max_changes or len(grid.features)))
    valid: Floats = rows[goal.reached(score(rows)) & space.allowed(rows)]
    return valid


def _drawn_specs(case: Case, most_immutable: int, seed: int) -> Iterator[Space]:
    for most in CHANGES:
        for immutable in range(most_immutable + 1):
            for directions in (False, True):
                random = np.random.default_rng([seed, most, immutable, directions])
                yield _drawn(case, random, immutable, directions, most)


def _drawn(case: Case, random: np.random.Generator, immutable: int, directions: bool, most: int) -> Space:
    """A spec in which ``immutable`` features are immutable; with directions, each of the others may have one."""
    space = space_of(case.source.codec)
    columns = np.bincount(space.feature_of)
    fixed = random.permutation(len(columns))[:immutable].tolist()
    mutable: list[Mutable] = []
    for feature, count in enumerate(columns.tolist()):
        kinds: tuple[Mutable, ...] = ("up", "down", "any") if directions and count == 1 else ("any",)
        mutable.append("none" if feature in fixed else kinds[random.integers(len(kinds))])
    return space._replace(mutable=tuple(mutable), max_changes=most)


def _finest(space: Space, person: Floats) -> Space:
    for steps in STEPS:
        found = _coarse(space, steps)
        grid = Grid(found)
        if are_few(grid.limits(person), min(space.max_changes or 1, len(grid.features)), MOST_TARGETS):
            break
    return found


def _coarse(space: Space, steps: int) -> Space:
    """The space with about ``steps`` steps in the range of a feature."""
    first = np.searchsorted(space.feature_of, np.arange(len(space.mutable)))
    return space._replace(smallest_change=np.maximum(space.smallest_change, space.scale[first] / steps))
