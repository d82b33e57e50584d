"""What the competitors that are run tell the users of a set."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from onward.benchmarks.elicitation.baselines.feasible_paths import FeasiblePaths
from onward.benchmarks.elicitation.baselines.genetic import SequentialCounterfactuals
from onward.benchmarks.elicitation.baselines.moves import Indices, Moves, Outcome
from onward.benchmarks.elicitation.baselines.tree_search import TreeSearch
from onward.benchmarks.elicitation.study import Array, Row, Study, Users

SIMULATIONS = {"MCTS": 15, "MCTS, 100 simulations": 100}
"""For each action of a plan. The authors' program makes 15."""


def competitors(
    study: Study, people: Users, everybody: list[Row], seed: int
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Validity of each competitor, and mean cost and length of its valid plans; NaN where there is none.

    Competitors plan with the expected weights, those of the prior. Costs are those under the users' true weights.
    ``everybody`` are the users that the population of FACE is made from.
    """
    expected, every = study.prior.mean, [Moves(study, row) for row in people.rows]
    planners = {name: partial(_tree_search, simulations, seed) for name, simulations in SIMULATIONS.items()}
    planners["CSCF"] = partial(_genetic, expected, seed)
    for name, planner in planners.items():
        plans = [planner(user, moves) for user, moves in enumerate(every)]
        made = zip(every, plans, people.weights, strict=True)
        yield name, _measures([moves.outcome(plan, own) for moves, plan, own in made])
    paths = FeasiblePaths(study, people.rows, everybody, expected, np.random.default_rng([seed, 3]))
    yield "FACE", _measures([paths.outcome(user, own) for user, own in enumerate(people.weights)])


def _tree_search(simulations: int, seed: int, user: int, moves: Moves) -> Indices:
    return TreeSearch(moves, simulations, np.random.default_rng([seed, 1, user])).plan()


def _genetic(expected: Array, seed: int, user: int, moves: Moves) -> Indices:
    return SequentialCounterfactuals(moves, expected, np.random.default_rng([seed, 2, user])).plan()


def _measures(outcomes: list[Outcome]) -> tuple[float, float, float]:
    valid = [outcome for outcome in outcomes if outcome.valid]
    if not valid:
        return 0.0, float("nan"), float("nan")
    costs, lengths = zip(*((outcome.cost, outcome.length) for outcome in valid), strict=True)
    return len(valid) / len(outcomes), float(np.mean(costs)), float(np.mean(lengths))
