"""The competitors of table 1 that are run, on stored users."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from onward.benchmarks.elicitation.baselines.feasible_paths import FeasiblePaths
from onward.benchmarks.elicitation.baselines.genetic import Sequences, SequentialCounterfactuals, ranking
from onward.benchmarks.elicitation.baselines.moves import Moves
from onward.benchmarks.elicitation.baselines.tree_search import TreeSearch
from onward.benchmarks.elicitation.planner import THOROUGH, Person
from onward.benchmarks.elicitation.study import Study
from onward.benchmarks.peers.similar_rows import path_lengths

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[3].parent / "shared")) / "reference" / "pear"
stored = pytest.mark.skipif(not SHARED.is_dir(), reason="the authors' data are not at hand")
NAMES = ("adult", "givemecredit")


@cache
def study(name: str) -> Study:
    return Study(SHARED, name)


@stored
@pytest.mark.parametrize("name", NAMES)
def test_actions_lead_where_the_planner_says_at_the_same_cost(name: str) -> None:
    of = study(name)
    users = of.stored_users("all").first(4)
    for row, weights in zip(users.rows, users.weights, strict=True):
        person, moves = Person(of, row), Moves(of, row)
        plans = person.cheapest(weights[np.newaxis])
        levels, order = plans.levels[0], plans.order[0]
        state = moves.start[np.newaxis]
        taken = []
        for step in person.steps(levels, order):
            after = Moves(of, {**row, step.feature: step.after}).start
            m = [action.feature for action in of.actions].index(step.feature)
            every = np.flatnonzero(moves.feature == m)
            reached = moves.after(np.repeat(state, len(every), axis=0), every)[:, m]
            taken.append(every[np.argmin(np.abs(reached - after[m]))])
            state = moves.after(state, np.array(taken[-1:]))
        outcome = moves.outcome(np.array(taken), weights)
        assert outcome.valid
        assert outcome.cost == pytest.approx(plans.costs[0, 0])


@stored
@pytest.mark.parametrize("name", NAMES)
def test_no_competitor_is_cheaper_than_the_optimum(name: str) -> None:
    of = study(name)
    users = of.stored_users("all").first(6)
    paths = FeasiblePaths(of, users.rows, users.rows, of.prior.mean, np.random.default_rng(0))
    helped = np.zeros(3)
    for number, (row, weights) in enumerate(zip(users.rows, users.weights, strict=True)):
        moves, random = Moves(of, row), np.random.default_rng(number)
        best = Person(of, row).cheapest(weights[np.newaxis], budget=THOROUGH).costs.min()
        outcomes = (
            moves.outcome(TreeSearch(moves, 100, random).plan(), weights),
            moves.outcome(SequentialCounterfactuals(moves, of.prior.mean, random).plan(), weights),
            paths.outcome(number, weights),
        )
        assert all(outcome.cost >= best - 1e-6 for outcome in outcomes if outcome.valid)
        helped += [outcome.valid for outcome in outcomes]
    assert helped.all()


@stored
def test_a_genome_is_decoded_to_its_features_in_the_order_of_their_keys() -> None:
    of = study("adult")
    moves = Moves(of, of.stored_users("all").rows[0])
    search = SequentialCounterfactuals(moves, of.prior.mean, np.random.default_rng(0))
    keys, place = [0.9, 0.3, 0.9, 0.1, 0.9, 0.2], [0.0, 0.5, 0.0, 0.999, 0.0, 0.0]
    found = search.decoded(np.array([keys + place]))
    own = found.moves[0][found.moves[0] >= 0]
    assert moves.feature[own].tolist() == [3, 5, 1]
    assert own[0] == np.flatnonzero(moves.feature == 3)[-1]


def test_valid_sequences_come_first_and_repeats_last() -> None:
    moves = np.array([[1, -1], [2, -1], [2, -1], [3, -1], [4, -1]])
    cost, distance = np.array([5.0, 1.0, 1.0, 4.0, 6.0]), np.array([1.0, 9.0, 9.0, 2.0, 2.0])
    valid = np.array([True, False, False, True, True])
    assert ranking(Sequences(moves, cost, distance, valid)).tolist() == [3, 0, 4, 1, 2]


def test_paths_join_only_rows_that_are_alike_in_what_is_fixed() -> None:
    scaled, fixed = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([["a"], ["a"], ["b"], ["a"]])
    far = path_lengths(scaled, fixed, 1)
    np.testing.assert_allclose(far, [[0.0, 0.1, np.inf, 0.3]])
    assert path_lengths(scaled, fixed, 1, by_radius=True, unweighted=True)[0, 3] == 2.0
