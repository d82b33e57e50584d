"""Compiled code reads and writes beyond its arrays without an error: here it runs as Python, which checks indices."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onward.agents
import onward.benchmarks.improvement.choices
import onward.benchmarks.robustness
from onward.agents import candidates
from onward.agents.candidates.components import plan_order
from onward.agents.candidates.components.scored import Asking, MeasuredTargets, ScoredTargets, in_lockstep
from onward.agents.candidates.recommenders import Bounds, MaximalSuccess
from onward.agents.choices import registry
from onward.agents.choices.components.every_set import best_of_every_set
from onward.agents.choices.components.execution_kernels import best_option
from onward.agents.choices.components.min_cost import expected_min_cost, gains, greedy, swaps
from onward.agents.compiled import compiled
from onward.agents.consequences import Consequences, EncodedStrata, Encoding, Link
from onward.agents.costs import L1, Columns, Cost, MixedCost
from onward.agents.costs.causal import Causal, CostStructure
from onward.agents.costs.causal_pairs import MOST_ORDERED
from onward.agents.costs.mixture import GaussianMixture
from onward.agents.goals import ThresholdGoal
from onward.agents.goals.components.rejected_share import rejected_share
from onward.agents.improvement import LabelPrior
from onward.agents.improvement.components.ensemble import Ensemble
from onward.agents.objective import Objective
from onward.agents.options import Options
from onward.agents.promises import Ellipsoid, LpBall, WorstCaseScore
from onward.agents.reasons import TreeContributions
from onward.agents.tree_walk import MOST_VALUES, SET, Boxes, Walk
from onward.agents.trees import TreeSum
from onward.benchmarks.robustness.exact import RobustEllipsoid, RobustLinear, Rules
from onward.schemas.encoding import FeatureCodec
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.space import space_of
from onward.tests.support.choice_artefacts import ARTEFACTS
from onward.tests.support.random_programs import any_row, any_spec, draw, picks

MANY = (0, 1, 5, 40, 70)
"""Numbers of instances: none, one, few, and more than the execution model samples or one box of neighbours holds."""


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Run all compiled functions as Python; the names of those that ran."""
    ran: set[str] = set()
    for name, function in all_compiled():
        monkeypatch.setattr(function, "machine", noted(name, function.__wrapped__, ran))
    return ran


ROOMS = onward.agents, onward.benchmarks.improvement.choices, onward.benchmarks.robustness
"""Where compiled functions are."""


def all_compiled() -> Iterator[tuple[str, compiled[..., Any]]]:
    """The compiled functions of all rooms, by module.function."""
    for module in (found for room in ROOMS for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, compiled) and value.__module__ == module.name:
                yield f"{module.name.rpartition('.')[2]}.{name}", value


def noted(name: str, function: Callable[..., Any], ran: set[str]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        ran.add(name)
        return function(*arguments)

    return call


def prior(columns: int) -> LabelPrior:
    """A booster, a forest and a regression, of a tree of three nodes each."""
    nodes = np.array([[0, 1, 2], [-1, 0, 0], [-1, 0, 0]] * 2, dtype=np.int32)
    nodes[3, 1:] += 3
    threshold, value = np.full(6, 0.5, dtype=np.float32), np.array([0.0, -1.0, 1.0, 0.0, 0.2, 0.8])
    trees = TreeSum(np.array([0, 3]), nodes, threshold, value, 0.0, logistic=True)
    trees.score(np.eye(columns))
    TreeContributions(trees, np.zeros(columns), np.arange(columns)).contributions_of(np.eye(columns))
    return LabelPrior(Ensemble(trees, np.array([0, 1]), np.linspace(-1.0, 2.0, columns), 0.5))


@pytest.mark.parametrize("name", ["linucb", "posterior", "residual"])
def test_an_index_beyond_the_end_is_found(interpreted: set[str], name: str) -> None:
    """An arm that the learner does not have."""
    points, arms = np.ones((3, 1)), np.array([3])
    learner = registry[name](points[:2], 3)
    with pytest.raises(IndexError):
        learner.choose(Options(points[0], arms, points, np.zeros(1, dtype=np.intp), np.ones(1)), np.random.default_rng)


def costs_of(codec: FeatureCodec, rows: NDArray[np.float64]) -> Iterator[Cost]:
    """Costs of samples, and costs that depend on the order of changes."""
    columns = Columns(codec.feature_of, np.array([feature.mutable != "none" for feature in codec.spec.features]))
    yield MixedCost.build(columns, rows, 5, 0)
    features = len(columns.movable)
    structure = CostStructure(features, [(0, 1)] if features > 1 else [])
    means = np.ones((1, structure.parameters))
    yield Causal(columns, structure, GaussianMixture(np.ones(1), means, means))


def choose_sets() -> None:
    """Sets of few and many options, of one and of all."""
    random = np.random.default_rng(0)
    for options, samples in ((1, 1), (6, 5)):
        costs, weights = random.random((options, samples)), np.full(samples, 1.0 / samples)
        for size in (1, options):
            chosen, _ = greedy(costs, weights, 0.5, size)
            expected_min_cost(costs, weights, 0.5, swaps(costs, weights, 0.5, chosen))
            best_of_every_set(costs, weights, size)
        gains(costs, weights, costs[0])


def walk_trees() -> None:
    """Sets of rows that differ in as much as they may, in more, and not at all; and NaN. Lines and grids of rows."""
    nodes = np.array([[0, 1, 2], [-1, 0, 0], [1, 3, 4], [-1, 0, 0], [-1, 0, 0], [-1, 0, 0]], dtype=np.int32)
    walk = Walk.from_trees(np.array([0, 5]), nodes, np.full(6, 0.5), np.arange(6.0))
    for new in range(MOST_VALUES // SET):
        rows = np.zeros((SET + 6, 6))
        rows[:, :new] = np.random.default_rng(0).random((SET + 6, new))
        rows[0, :new] = np.nan
        walk.add_leaves(rows, np.array([0, 1]), np.zeros((2, SET + 6)))
    ends = np.linspace([[0.0, 1.0, 0.3]], [[1.0, 0.0, 0.7]], 5, axis=2)
    for axis, size in (([0, 0, -1], [5, 1]), ([0, 1, 1], [5, 3])):
        boxes = Boxes(
            np.full((1, 6), 0.2), np.array([0, 1, 5]), ends, np.zeros(1, int), np.array([axis]), np.array([size])
        )
        walk.add_leaves_of(boxes, np.zeros(boxes.first[-1]))


def extend_targets() -> None:
    """Known targets beside single moves, as for people whom nothing else serves: as many as there is room for."""
    targets = ScoredTargets(np.arange(3), 3)
    none = np.zeros(3, np.bool_)
    answer = MeasuredTargets(np.zeros(3), np.zeros(3), none, none, none)

    def search() -> Asking[None]:
        bases = yield from targets.add(np.eye(3, dtype=np.int64))
        yield from targets.extend(bases, np.arange(3), np.ones(3, dtype=np.int64))

    in_lockstep([search()], lambda _, steps: answer.subset(slice(len(steps))))
    assert len(targets.steps) == 6


def order_many_changes() -> None:
    """Changes and steps of which there are too many to try each order, and targets too many to keep."""
    features = MOST_ORDERED + 2
    structure = CostStructure(features, [(0, 1)])
    means = np.ones((1, structure.parameters))
    columns = Columns(np.arange(features), np.full(features, True))
    cost = Causal(columns, structure, GaussianMixture(np.ones(1), means, means))
    cost(np.ones((1, features)), np.zeros((1, features)))
    codec = FeatureCodec(any_spec(Random(1)))
    rows = codec.encode_many([any_row(Random(seed), codec.spec) for seed in range(5)])
    generator = candidates.registry["plans"].build(space_of(codec), rows, Objective(L1()))
    with pytest.MonkeyPatch.context() as few:
        few.setattr(plan_order, "MOST_STATES", 1)
        generator.under(lambda X: X[:, 0], ThresholdGoal(0.3)).propose(rows)
    plan_order.with_room(4, 1.0, np.zeros((4, 2), dtype=np.intp), np.zeros((4, 3)), np.arange(4.0))


def follow_changes() -> None:
    """Features of one parent and of two, in levels, of everybody and of groups, with and without a stop."""
    strata = EncodedStrata(np.array([3]), np.array([[0.0], [1.0]]), np.ones((2, 1)), np.ones((2, 1)))
    links = [Link(1, [0], [0.5], [0.1], stops=(0.0, 2.0), strata=strata), Link(2, [0, 1], [0.5, 1.0], [0.1, 0.0])]
    consequences = Consequences(links, Encoding(np.arange(4), np.zeros(4), np.ones(4), [0] * 4))
    for people in range(3):
        rows = np.arange(4.0 * people).reshape(people, 4)
        told = rows + np.array([9.0, 0.0, 0.0, 0.0])
        states = consequences.states_after(told, rows)
        consequences.examined(states, rows, np.zeros(4), np.full(4, 99.0))
        consequences.of_actions(told, rows)


def test_no_method_reaches_beyond_its_arrays(interpreted: set[str]) -> None:
    for seed in range(3):
        for generator in candidates.registry.values():
            random = Random(seed)
            codec = FeatureCodec(any_spec(random))
            rows, people = (codec.encode_many([any_row(random, codec.spec) for _ in range(5)]) for _ in range(2))
            linear = LogisticScore(np.linspace(-1.0, 1.0, codec.dimension), -1.0)
            helping = Objective(L1(), 0.5, prior(codec.dimension))
            sets = LpBall(0.1, 2), Ellipsoid(np.eye(codec.dimension + 1), 0.1)
            costs = [Objective(cost) for cost in costs_of(codec, rows)] if seed < 2 else []
            for score, more in (
                (lambda X: X[:, 0], costs),
                (linear, costs),
                *((WorstCaseScore(linear, models), []) for models in sets),
            ):
                for objective in (Objective(L1()), helping, *more):
                    built = generator.build(space_of(codec), rows, objective).under(score, ThresholdGoal(0.3))
                    built.propose(people)
    people = np.random.default_rng(0).uniform(0.1, 0.9, (8, 6))  # with difficulties at which plans need a proof
    for hardest, steepest, bias in ((0.005, 5.0, -11.0), (0.01, 9.0, -20.0)):
        hard = MaximalSuccess(np.geomspace(hardest, 10 * hardest, 6))
        score = LogisticScore(np.linspace(1.0, steepest, 6), bias)
        hard.recommend(score, people, np.full(8, 0.8), Bounds(np.zeros(1), np.ones(1)))
    free = np.array([1, 2])
    for p in (1.0, 1.5, 2.0, np.inf):
        for rules in (Rules(np.zeros(6), np.ones(6)), Rules(np.zeros(6), np.ones(6), np.full(6, 0.1), (free,))):
            robust = RobustLinear(np.linspace(-2.0, 5.0, 6), -4.0, LpBall(0.2, p, intercept=p > 1.0))
            own = people.copy()
            own[:, free] = [0.0, 1.0]
            robust.price(own[:3], rules, 0.1)
            robust.least_cost(own[:3], rules, 0.5)
        robust.price(people, Rules(np.full(6, -np.inf), np.full(6, np.inf)), 0.1)
    around = RobustEllipsoid(np.linspace(-2.0, 5.0, 6), -4.0, Ellipsoid(0.01 * np.eye(7), 1.0))
    around.least_cost(people, Rules(np.zeros(6), np.ones(6)), 0.5)
    at = np.arange(8)
    certain = people[0], at, people, at, np.linspace(0.1, 0.9, 8)
    best_option(certain, np.ones(6), 0.0, 0.0, np.linspace(0.9, 0.1, 8), 1.0)
    choose_sets()
    order_many_changes()
    walk_trees()
    extend_targets()
    follow_changes()
    for name in registry:
        for instances in MANY:
            for seed in range(2):
                random = Random(seed)
                picks(name, draw(random, instances, 20), random, ARTEFACTS)
    for people in range(3):
        assert rejected_share(np.full((people, 2), 0.5), np.full((2, 2), 0.5), 2).shape == (2,)
    assert {name for name, _ in all_compiled()} <= interpreted
