"""The search beside the exhaustive optimum, for many specs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from onward.agents.candidates import Mutable, Space
from onward.agents.candidates.grid import Grid, count_targets
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import Threshold
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import Case, Floats, coarse, optimum
from onward.streams.programs.space import space_of

AIM_COST_RATIO, AIM_NONE_ABOVE = 1.1, 0.01
COARSE = 7
"""Steps in a range of the grid on which the search is held against the optimum."""
STEPS = (7, 5, 4, 3, 2, 1)
MOST_TARGETS = 20_000
"""The sweep takes the finest of these grids with at most so many targets."""
MARGIN = 0.2
"""With a margin some people of many specs have no option, which a search must not find too often."""
CHANGES = (2, 3, 4)


class Gap(NamedTuple):
    """People of one spec: how many, whom the search missed although there is an option, and the costs of the others."""

    people: int
    missed: int
    impossible: int
    found_cost: float
    least_cost: float

    @property
    def none_above(self) -> float:
        """The share of people who have an option that was not found."""
        return self.missed / self.people

    @property
    def cost_ratio(self) -> float:
        """The mean cost beside the optimum's, of those for whom both found one."""
        return self.found_cost / self.least_cost if self.least_cost else 1.0


def beside_the_optimum(title: str, space: Space, case: Case, people: int) -> Iterator[Row]:
    """The rows of one spec on a coarse grid."""
    gap = _gap([coarse(space, COARSE)] * people, case, case.people[:people], Threshold(0.5))
    exhaustive = gap.impossible / gap.people
    yield Row(f"{title}: none, coarse", gap.none_above, "share above", exhaustive, AIM_NONE_ABOVE, "lower")
    if gap.least_cost:
        name = f"{title}: cost / optimum, coarse"
        yield Row(name, gap.cost_ratio, "x", reference=1.0, aim=AIM_COST_RATIO, better="lower")


def sweep(case: Case, people: int, most_immutable: int, seed: int) -> Iterator[Row]:
    """The rows of all specs with 0 to ``most_immutable`` immutable features, with and without directions."""
    gaps: list[Gap] = []
    for most in CHANGES:
        for immutable in range(most_immutable + 1):
            for directions in (False, True):
                random = np.random.default_rng([seed, most, immutable, directions])
                gaps.append(_gap_of_spec(case, people, _drawn(case, random, immutable, directions, most)))
    total = Gap(*(sum(column) for column in zip(*gaps, strict=True)))
    title = f"{case.title}, {len(gaps)} specs of {people} people"
    progress(f"{title}: {total.missed} of {total.people} missed, cost {total.cost_ratio:.3f} x")
    exhaustive = total.impossible / total.people
    yield Row(f"{title}: none", total.none_above, "share above", exhaustive, AIM_NONE_ABOVE, "lower")
    yield Row(f"{title}: none, worst spec", max(gap.none_above for gap in gaps), "share above", better="lower")
    yield Row(f"{title}: cost / optimum", total.cost_ratio, "x", 1.0, AIM_COST_RATIO, "lower")
    worst = max(gap.cost_ratio for gap in gaps)
    yield Row(f"{title}: cost / optimum, worst spec", worst, "x", 1.0, better="lower")


def _gap_of_spec(case: Case, people: int, space: Space) -> Gap:
    chosen = case.people[:people]
    return _gap([_finest(space, person) for person in chosen], case, chosen, Threshold(0.5, MARGIN))


def _gap(spaces: Sequence[Space], case: Case, people: Floats, goal: Threshold) -> Gap:
    """The gap of people (n, D), each in their own space."""
    missed = impossible = 0
    costs: list[tuple[float, float]] = [(0.0, 0.0)]
    for space, person in zip(spaces, people, strict=False):
        least = optimum(space, case.score, goal, person)
        found = Search(space, L1(), case.score, goal).propose(person[np.newaxis])
        if least is None:
            impossible += 1
        elif not len(found.arm):
            missed += 1
        else:
            costs.append((float(L1()(found.points, person[np.newaxis]).min()), least))
    ours, best = np.array(costs).sum(axis=0).tolist()
    return Gap(len(people), missed, impossible, ours, best)


def _drawn(case: Case, random: np.random.Generator, immutable: int, directions: bool, most: int) -> Space:
    """A spec in which so many features are immutable; with directions, each of the others may have one."""
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
        found = coarse(space, steps)
        grid = Grid(found)
        if count_targets(grid.limits(person), min(space.max_changes or 1, len(grid.features))) <= MOST_TARGETS:
            break
    return found
