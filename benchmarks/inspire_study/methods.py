"""The methods under one signature: a person and their cost functions in, a set of rows out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from onward.agents.choices.components.min_cost import greedy

from . import cols, corrected
from .data import Array, DataSet, Rows
from .local_search import OBJECTIVES, local_search
from .ours import onward
from .peers import actionable_recourse, ask_dice, face, random_search
from .sampler import AS_CODED, UNREACHABLE, CostFunctions, Sampling, cost_of, draw_alpha, sample

SIZE, BUDGET = 10, 5000
"""Of the paper's table 1: rows of a set, model rows."""
SAMPLES, HIDDEN = 1000, 500
"""Cost functions that a set is optimised for, and those by which it is judged."""
OURS, POOL = "Onward", "whole pool"


class Subject(NamedTuple):
    """A person (F,) by number, the cost functions to optimise for, and the hidden ones that judge."""

    number: int
    person: Rows
    sampled: CostFunctions
    hidden: CostFunctions

    @property
    def costs(self) -> Array:
        """The costs (V, M) to optimise for."""
        return self.sampled.costs


Method = Callable[[Subject, np.random.Generator], Rows]


@dataclass(frozen=True)
class Stored:
    """A method that has made the sets of n people already, in ``seconds`` of processor time for all of them."""

    rows: Sequence[Rows]
    seconds: float

    @classmethod
    def of(cls, make: Callable[[], Sequence[Rows]]) -> Self:
        """Make all sets now, and take the time."""
        started = time.process_time()
        rows = make()
        return cls(rows, time.process_time() - started)

    def __call__(self, subject: Subject, random: np.random.Generator) -> Rows:
        """The set of a person."""
        return self.rows[subject.number]


def subjects(
    data: DataSet,
    people: Rows,
    seed: int,
    samples: int = SAMPLES,
    hidden: int = HIDDEN,
    alphas: tuple[float, float] | None = None,
    sampling: Sampling = AS_CODED,
) -> Iterator[Subject]:
    """The people with their cost functions, drawn by the seed; ``alphas`` are those of both sorts of functions."""
    for number, person in enumerate(people):
        random = np.random.default_rng([seed, number])
        own = float(draw_alpha(random))
        to_optimise: float | Array = own if sampling.shares_alpha else draw_alpha(random, samples)
        to_optimise, to_judge = (to_optimise, own) if alphas is None else alphas
        yield Subject(
            number,
            person,
            sample(data, person, samples, to_optimise, random, sampling),
            sample(data, person, hidden, to_judge, random, sampling),
        )


def searches(data: DataSet, size: int = SIZE, budget: int = BUDGET) -> dict[str, Method]:
    """COLS and P-COLS as the authors have them."""
    return {
        "COLS": lambda subject, random: cols.cols(data, subject.person, subject.costs, random, size, budget).rows,
        "P-COLS": lambda subject, random: cols.p_cols(data, subject.person, subject.costs, random, size, budget).rows,
    }


def corrections(data: DataSet, size: int = SIZE, budget: int = BUDGET) -> dict[str, Method]:
    """COLS with the error of its code that the stored results do not show, and without any."""
    return {
        "COLS, places mixed up": lambda subject, random: (
            cols.cols(data, subject.person, subject.costs, random, size, budget, misplaces=True).rows
        ),
        "COLS corrected": lambda subject, random: (
            corrected.cols(data, subject.person, subject.costs, random, size, budget).rows
        ),
        "P-COLS corrected": lambda subject, random: (
            corrected.p_cols(data, subject.person, subject.costs, random, size, budget).rows
        ),
    }


def peers(data: DataSet, people: Rows, size: int = SIZE, budget: int = BUDGET) -> dict[str, Method]:
    """The methods that the paper compares with and that keep to a budget."""
    return {
        "AR": lambda subject, random: actionable_recourse(data, subject.person, random, size, budget),
        "FACE-knn": Stored.of(lambda: face(data, people, size, budget, by_radius=False)),
        "FACE-epsilon": Stored.of(lambda: face(data, people, size, budget, by_radius=True)),
        "random": lambda subject, random: random_search(data, subject.person, subject.costs, random, size, budget),
    }


def dice(data: DataSet, people: Rows, size: int = SIZE) -> dict[str, Method]:
    """DiCE, where its environment is installed. It keeps to no budget."""
    answers = ask_dice(data, people, size)
    return {} if answers is None else {"DiCE": Stored(*answers)}


def local_searches(data: DataSet, budget: int) -> dict[str, Method]:
    """Basic local search, by what it optimises."""
    return {
        f"local search, {name}": lambda subject, random, objective=objective: local_search(  # type: ignore[misc]
            data, subject.person, subject.costs, random, objective, SIZE, budget
        )
        for name, objective in OBJECTIVES.items()
    }


WARM = 2
"""People whose sets are made before anything is timed: loops are compiled then."""


def ours(data: DataSet, people: Rows, size: int = SIZE, **policy: object) -> dict[str, Method]:
    """The program, whose sets are made for all people at once."""
    with onward(data, **policy) as program:
        program.sets(people[:WARM], size)
        made = program.sets(people, size)
    return {OURS: Stored(made.rows, made.seconds)}


def pool(data: DataSet, size: int | None = None) -> dict[str, Method]:
    """All of a large pool of valid rows, or the ``size`` of them that greedy picks for the person's cost functions."""

    def of(subject: Subject, random: np.random.Generator) -> Rows:
        rows = _pool(data, subject.person, random)
        if size is None:
            return rows
        costs = cost_of(data, rows, subject.costs)
        paid = np.where(costs < UNREACHABLE, costs, np.inf)
        chosen, _ = greedy(paid, np.ones(paid.shape[1]), float(len(subject.person)), size)
        return np.asarray(rows[chosen])

    return {POOL if size is None else f"greedy {size} of the pool": of}


DRAWN, LARGEST = 3_000, 4
"""Rows of each number of changes that a pool is drawn from, and the largest number of changes."""


def _pool(data: DataSet, person: Rows, random: np.random.Generator) -> Rows:
    """Valid rows that change up to ``LARGEST`` features as the person may, near values more often than far ones."""
    allowed = []
    for number, feature in enumerate(data.features):
        values = np.arange(feature.low, feature.high + 1)
        apart = values - person[number]
        values = values[(apart != 0) & (apart * feature.direction >= 0) & (feature.kind != "fixed")]
        allowed.append(values[np.argsort(np.abs(values - person[number]), kind="stable")])
    free = [number for number, values in enumerate(allowed) if len(values)]
    parts = [person[np.newaxis]]
    for changes in range(1, min(LARGEST, len(free)) + 1):
        rows = np.repeat(person[np.newaxis], DRAWN, axis=0)
        changed = random.random((DRAWN, len(free))).argsort(axis=1).argsort(axis=1) < changes
        for place, number in enumerate(free):
            own, values = np.flatnonzero(changed[:, place]), allowed[number]
            far = np.exp(random.random(len(own)) * np.log(len(values) + 1)) - 1.0
            rows[own, number] = values[far.astype(int).clip(0, len(values) - 1)]
        parts.append(rows)
    rows = np.unique(np.concatenate(parts), axis=0)
    return rows[data.accepts(rows)]
