"""The contract of costs as laws."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..agents.arrays import Array
from ..agents.costs import Columns, Cost, SampledCost
from ..agents.objective import Objective
from .laws import Contract, name_of, refuses, require

COST: Contract[type[Cost]] = Contract()
"""The laws of every cost."""

COLUMNS = Columns(np.array([0, 1, 1, 1, 2, 3]), np.array([True, True, True, False]))
"""A number, three categories, a number, and a number that may not change."""
REFERENCE = np.random.default_rng(0).integers(0, 9, (50, 6)) / 8
SAMPLES = 7
CANDIDATES = (1, 5, 300)


def check_cost(kind: type[Cost], *, seeds: Iterable[int] | None = None) -> None:
    """Check every law of costs; raise ``ContractError`` at the first that is broken.

    ``seeds`` are those of every law, by default as many as it needs.
    """
    COST.hold(name_of(kind, Cost), kind, seeds)


@COST.law(draws=30)
def a_row_does_not_depend_on_the_batch(kind: type[Cost], seed: int) -> None:
    """A person's costs are the same, to the last bit, alone and in any batch, and with another such cost."""
    people, candidates = 1 + seed % 9, CANDIDATES[seed % 3]
    cost, points, crowd = built(kind), rows(seed, candidates), rows(seed + 1, people)
    batch, again = cost(points, crowd), built(kind)(points, crowd)
    require(batch.tobytes() == again.tobytes(), f"two costs of the same seed differ for {people} people")
    for person in range(people):
        alone = cost(points, crowd[[person]])[0]
        same = batch[person].tobytes() == alone.tobytes()
        require(same, f"person {person} has {batch[person, :5]} in a batch of {people}, and {alone[:5]} alone")


@COST.law(draws=30)
def no_cost_is_negative(kind: type[Cost], seed: int) -> None:
    """Costs are 0 or more."""
    costs = built(kind)(rows(seed, CANDIDATES[seed % 3]), rows(seed + 1, 1 + seed % 9))
    require((costs >= 0.0).all(), f"the least cost is {costs.min()}")


@COST.law(draws=30)
def pairs_cost_the_same_bits(kind: type[Cost], seed: int) -> None:
    """``of_pairs`` gives what a call gives, whichever pairs are asked for."""
    cost, points, crowd = built(kind), rows(seed, 4), rows(seed + 1, 3)
    owner, index = np.divmod(np.arange(12)[::-1], 4)
    pairs, whole = cost.of_pairs(points, crowd, index, owner), cost(points, crowd)[owner, index]
    require(pairs.tobytes() == whole.tobytes(), f"12 pairs cost {pairs}, and {whole} in a call")


@COST.law()
def no_change_costs_nothing(kind: type[Cost]) -> None:
    """It costs 0 to stay as one is."""
    crowd = rows(0, 5)
    stay = np.diag(built(kind)(crowd, crowd))
    require((stay == 0.0).all(), f"to stay as they are costs five people {stay}")


@COST.law()
def costs_have_a_row_a_person(kind: type[Cost]) -> None:
    """Costs have the shape (people, candidates), where there is none of one too."""
    cost, crowd = built(kind), rows(0, 5)
    for people, candidates in ((2, 5), (0, 5), (5, 0)):
        shape = cost(crowd[:candidates], crowd[:people]).shape
        require(shape == (people, candidates), f"of {people} people and {candidates} candidates it is {shape}")


@COST.law(draws=100)
def the_options_of_a_batch_are_those_of_single_people(kind: type[Cost], seed: int) -> None:
    """Costs and execution probabilities of options are the same, to the last bit, in a batch and alone."""
    objective = Objective(built(kind), nu=0.3)
    crowd, points = rows(seed, 3), rows(seed + 1, 9)
    owner, number = np.repeat(np.arange(3), 3), np.arange(9)
    together = objective.options(crowd, owner, number, points, number, COLUMNS.feature_of)
    for person in range(3):
        span, nobody_else = slice(3 * person, 3 * person + 3), np.zeros(3, dtype=np.intp)
        alone = objective.options(crowd[[person]], nobody_else, number[span], points, number[span], COLUMNS.feature_of)
        costs, execution = together.cost[span], together.options_of(person).execution
        require(costs.tobytes() == alone.cost.tobytes(), f"person {person} has {costs}, and {alone.cost} alone")
        carried_out = alone.options_of(0).execution
        same = execution.tobytes() == carried_out.tobytes()
        require(same, f"person {person} carries out with {execution}, and alone with {carried_out}")


@COST.law(draws=100)
def a_sampled_cost_is_the_mean_of_its_samples(kind: type[Cost], seed: int) -> None:
    """A ``SampledCost`` is the mean of its ``costs``, each up to ``cap``; finite ones are below the movable features.

    There is nothing to keep for other costs.
    """
    cost, points, crowd = built(kind), rows(seed, 6), rows(seed + 1, 6)
    if not isinstance(cost, SampledCost):
        return
    number = np.arange(6)
    costs = cost.costs(cost.shifts(points, crowd, number, number))
    require(costs.shape == (6, SAMPLES), f"{SAMPLES} samples of 6 pairs have the shape {costs.shape}")
    highest = costs[np.isfinite(costs)].max(initial=0.0)
    require(highest <= len(COLUMNS.movable), f"a sample is {highest} for {len(COLUMNS.movable)} features")
    pairs, mean = cost.of_pairs(points, crowd, number, number), np.minimum(costs, cost.cap).mean(axis=1)
    require(np.allclose(pairs, mean, rtol=1e-14, atol=0.0), f"the costs are {pairs}, and the means {mean}")


@COST.law()
def parameters_are_checked(kind: type[Cost]) -> None:
    """``build`` raises ``ValueError`` for an unknown parameter, and for a number that its interval does not have."""
    with refuses("a parameter that it does not have", "no parameter"):
        kind.build(COLUMNS, REFERENCE, SAMPLES, 0, unheard_of=1.0)
    for name, parameter in kind.parameters().items():
        for value in (float("nan"), *(number for number in (0.0, -1.0) if not parameter.allows(number))):
            with refuses(f"{name} {value}", name):
                kind.build(COLUMNS, REFERENCE, SAMPLES, 0, **{name: value})


def built(kind: type[Cost], samples: int = SAMPLES) -> Cost:
    """The cost of a program."""
    return kind.build(COLUMNS, REFERENCE, samples, seed=3)


def rows(seed: int, count: int) -> Array:
    """Encoded rows, of one category each."""
    random = np.random.default_rng(seed)
    encoded = random.integers(0, 9, (count, 6)) / 8
    encoded[:, 1:4] = np.eye(3)[random.integers(0, 3, count)]
    return encoded
