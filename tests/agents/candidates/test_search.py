"""The search beside an exhaustive one, and its options beside the rules in the spec's own words."""

from __future__ import annotations

import re
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import Ranges
from onward.agents.candidates.adapted import Adapted
from onward.agents.candidates.components.cheapest import EXHAUSTIVE
from onward.agents.candidates.search import Search
from onward.agents.costs import L1, Cost, MaxPercentileShift
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.agents.promises import LpBall, WorstCaseScore
from onward.schemas.encoding import FeatureCodec
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.space import space_of
from onward.testing.spaces import scaled_space
from onward.tests.support.random_programs import any_row, any_spec, can_become

Array = np.ndarray[Any, Any]
STEP = 0.05


def lowest(options: Array, person: Array) -> float:
    return float(np.abs(options - person).sum(axis=1).min(initial=np.inf))


def every_target(person: Array, movable: list[int], most: int) -> Array:
    """All rows that differ from a person in at most so many features, by whole steps of ``STEP``."""
    places = np.round(person + STEP * np.arange(-20, 21)[:, np.newaxis], 9)
    values = [
        places[(places[:, m] >= 0) & (places[:, m] <= 1), m] if m in movable else person[m : m + 1] for m in range(4)
    ]
    rows = np.array(list(product(*values)))
    changed = (rows != person).sum(axis=1)
    return rows[(changed > 0) & (changed <= most)]


def bumpy(random: np.random.Generator) -> Any:
    """A score that is not monotone: a sum of boxes, as a small ensemble of trees has."""
    low, weight = random.uniform(0, 1, (30, 4)), random.normal(0, 1, 30)
    side = random.integers(0, 2, (30, 4)).astype(bool)
    active = random.random((30, 4)) < 0.5

    def score(X: Array) -> Array:
        inside = ((X[:, np.newaxis] > low) == side) | ~active
        return 1 / (1 + np.exp(-0.8 * (inside.all(axis=2) @ weight) + 0.6))

    return score


def test_finds_an_option_wherever_there_is_one_and_nearly_the_cheapest() -> None:
    """Fixed seeds: 40 people on as many score surfaces, grids of some thousand targets."""
    costs = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        score, person, goal = bumpy(random), np.round(random.integers(0, 21, 4) * STEP, 9), ThresholdGoal(0.6)
        space = scaled_space(np.arange(4), ("any", "any", "any", "none"), np.full(4, STEP), 2)
        targets = every_target(person, [0, 1, 2], 2)
        assert len(targets) > EXHAUSTIVE / 2
        valid = targets[goal.reached(score(targets))]
        found = Search.build(space, targets[:0], Objective(L1())).under(score, goal).propose(person[np.newaxis])
        assert bool(len(found.arm)) == bool(len(valid)), f"seed {seed}"
        if len(valid):
            costs.append((lowest(found.points, person), lowest(valid, person)))
    ours, optimum = np.array(costs).T
    assert len(costs) > 20
    assert (ours >= optimum - 1e-9).all()
    assert ours.mean() <= 1.1 * optimum.mean()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_people_read_keeps_the_spec_s_rules_and_encodes_to_the_row_that_was_scored(seed: int) -> None:
    random = Random(seed)
    spec = any_spec(random)
    codec = FeatureCodec(spec)
    generator = Search.build(space_of(codec), np.zeros((0, codec.dimension)), Objective(L1()))
    generator = generator.under(lambda X: X[:, 0], ThresholdGoal(spec.model.threshold))
    people = [any_row(random, spec) for _ in range(4)]
    proposals = generator.propose(codec.encode_many(people))
    codes = codec.codes(proposals.points)
    changes = codec.changed_codes(codec.encode_many(people)[proposals.people], proposals.points[proposals.point])
    for index, whose in enumerate(proposals.people.tolist()):
        person, row = people[whose], codes[proposals.point[index]]
        encoded = codec.encode_many([person])[0]
        changed = set(codec.feature_of[proposals.points[proposals.point[index]] != encoded].tolist())
        target = {
            feature.name: codec.value(number, row.item(number)) if number in changed else person[feature.name]
            for number, feature in enumerate(spec.features)
        }
        assert codec.changed_values(changes, index) == [
            (number, codec.value(number, row.item(number))) for number in sorted(changed)
        ]
        assert can_become(spec, person, target)
        assert codec.check(target) is None
        assert (codec.encode_many([target])[0] == proposals.points[proposals.point[index]]).all()


def test_an_option_with_a_change_that_is_not_needed_is_left_out() -> None:
    space = scaled_space(np.arange(3), ("any", "any", "any"), np.full(3, 0.25))
    generator = Search.build(space, np.zeros((0, 3)), Objective(L1())).under(lambda X: X[:, 0], ThresholdGoal(0.6))
    found = generator.propose(np.array([[0.0, 0.5, 0.5]]))
    assert found.points.tolist() == [[0.75, 0.5, 0.5]]
    assert generator.arms[found.arm].tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("cost", [L1(), MaxPercentileShift(np.tile(np.linspace(0, 1, 101)[:, np.newaxis], 4))])
def test_no_option_of_a_rough_score_has_a_change_that_is_not_needed(cost: Cost) -> None:
    """Fixed seeds: 40 people on as many score surfaces, whose grids are too large to be scored whole."""
    space, options = scaled_space(np.arange(4), ("any",) * 4, np.full(4, 0.01), 3), 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        score, person, goal = bumpy(random), np.round(random.random(4), 2), ThresholdGoal(0.6)
        found = Search.build(space, np.zeros((0, 4)), Objective(cost)).under(score, goal).propose(person[np.newaxis])
        for target in found.points:
            changed = np.flatnonzero(target != person)
            without = np.where(np.arange(4) == changed[:, np.newaxis], person, target)
            assert len(changed) == 1 or not goal.reached(score(without)).any(), f"seed {seed}"
            options += len(changed) > 1
    assert options > 20


def curved(random: np.random.Generator) -> Any:
    """A score that grows with every column, and is neither linear nor a sum of single effects."""
    weight, power = random.uniform(1, 4, 4), random.uniform(0.5, 3, 4)

    def score(X: Array) -> Array:
        return 1 / (1 + np.exp(0.7 * weight.sum() - X**power @ weight - 6 * X[:, 0] * X[:, 1]))

    return score


def test_hardly_any_change_of_a_smooth_score_could_be_smaller_by_one_step() -> None:
    """Fixed seeds: people on as many score surfaces, whose grids are too large to be scored whole."""
    space, goal, larger = scaled_space(np.arange(4), ("any",) * 4, np.full(4, 0.01), 3), ThresholdGoal(0.5), []
    for seed in range(40):
        random = np.random.default_rng(seed)
        score, person = curved(random), np.round(0.6 * random.random(4), 2)
        found = Search.build(space, np.zeros((0, 4)), Objective(L1())).under(score, goal).propose(person[np.newaxis])
        for target in found.points:
            changed = np.flatnonzero(target != person)
            less = np.where(np.arange(4) == changed[:, np.newaxis], target - 0.01 * np.sign(target - person), target)
            larger += goal.reached(score(np.round(less, 9))).tolist()
    assert len(larger) > 200
    assert np.mean(larger) < 0.05


@pytest.mark.parametrize(
    ("mutable", "most", "detail", "advice"),
    [
        (
            ("any", "any", "none"),
            1,
            "no allowed change of income, savings reaches the required score",
            "it would help if 2 features could change",
        ),
        (
            ("up", "down", "none"),
            2,
            "no allowed change of income, savings reaches the required score",
            "it would help if savings could also go up",
        ),
        (("none", "none", "none"), None, "nothing that may change has room to", ""),
    ],
)
def test_explains_how_far_the_allowed_changes_lead(mutable: Any, most: int | None, detail: str, advice: str) -> None:
    space = scaled_space(np.arange(3), mutable, np.full(3, 0.25), most, ("income", "savings", "age"))
    generator = Search.build(space, np.zeros((0, 3)), Objective(L1())).under(
        lambda X: X @ [0.5, 0.5, 0.0] * 0.96, ThresholdGoal(0.9)
    )
    assert generator.explain(np.array([0.25, 0.25, 0.5]))[1:3] == (detail, advice)


@pytest.mark.attack
@pytest.mark.parametrize("kind", [Search, Adapted])
def test_who_asks_again_and_again_is_never_told_a_score(kind: Any) -> None:
    """Sentences with scores would let somebody rebuild the model by applying often."""
    space = scaled_space(np.arange(2), ("any", "any"), np.full(2, 0.25), 1)
    generator = kind.build(space, np.array([[1.0, 1.0], [0.75, 0.5]]), Objective(L1()))
    generator = generator.under(lambda X: X @ [0.5, 0.5] * 0.96, ThresholdGoal(0.9))
    for person in ([0.25, 0.25], [0.0, 0.5], [0.75, 0.25]):
        explanation = generator.explain(np.array(person))
        assert not re.search(r"[0-9]\.[0-9]", explanation.detail)
        assert "0.90" in explanation.scores


@pytest.mark.parametrize(
    ("rules", "step", "words"),
    [
        ({"ceiling": 1.25}, 0.25, "could go up to 1.25 instead of 1 kEUR"),
        ({"largest_change": 0.6}, 0.25, "could change by up to 0.75 instead of 0.6 kEUR"),
        ({"largest_share": 2.5}, 0.25, "could change by up to 300% instead of 250%"),
        ({}, 0.5, "could change in steps of 0.25 instead of 0.5 kEUR"),
        ({"ceiling": 1.25}, 0.5, "could change in steps of 0.25 instead of 0.5 kEUR"),
    ],
)
def test_names_the_smallest_relaxation_of_a_feature(rules: Any, step: float, words: str) -> None:
    ranges = Ranges.from_bounds(np.zeros(1), np.ones(1))
    ranges = ranges._replace(**{name: np.array([value]) for name, value in rules.items()})
    space = scaled_space(np.arange(1), ("up",), np.array([step]), None, ("income",), ranges=ranges)
    space = space._replace(units=("kEUR",))
    required = 0.95 if "ceiling" not in rules or step == 0.5 else 1.1
    generator = Search.build(space, np.zeros((0, 1)), Objective(L1())).under(lambda X: X[:, 0], ThresholdGoal(required))
    assert generator.explain(np.array([0.25])).advice == f"it would help if income {words}"


def test_the_work_is_bounded_however_many_features_may_change() -> None:
    """60 features, any number of which may change: the numbers of sets would not end."""
    scored = 0

    def score(X: Array) -> Array:
        nonlocal scored
        scored += len(X)
        return X.mean(axis=1) * 0.5

    generator = Search.build(scaled_space(np.arange(60), ("up",) * 60), np.zeros((0, 60)), Objective(L1()))
    person = np.full(60, 0.5)
    assert not len(generator.under(score, ThresholdGoal(0.9)).propose(person[np.newaxis]).arm)
    assert scored < 20_000
    scored = 0
    explanation = generator.under(score, ThresholdGoal(0.9)).explain(person)
    assert scored < 60_000
    assert explanation.detail.endswith("was found that reaches the required score")
    assert explanation.scores.startswith("a score above 0.90 is required; the best found reaches 0.")


def test_a_none_under_a_promise_says_under_which_models() -> None:
    robust = WorstCaseScore(LogisticScore(np.array([4.0]), -2.0), LpBall(9.0, 1))
    space = scaled_space(np.arange(1), ("any",), np.array([STEP]))
    search = Search.build(space, np.zeros((0, 1)), Objective(L1())).under(robust, ThresholdGoal(0.5))
    explanation = search.explain(np.array([0.2]))
    assert explanation.detail.endswith(" reaches the required score under all models that are near this one")
    assert explanation.scores.startswith("a score above 0.50 under all models that are near this one is required; ")
    assert explanation.scores.endswith(" there")


def test_scores_that_are_told_together_have_digits_enough_to_differ() -> None:
    space = scaled_space(np.arange(1), ("any",), np.array([STEP]))
    generator = Search.build(space, np.zeros((0, 1)), Objective(L1())).under(
        lambda X: X[:, 0] * 0.9962, ThresholdGoal(0.9971)
    )
    assert "above 0.997 is required; the best reaches 0.996" in generator.explain(np.array([0.2])).scores
