"""The laws of every candidate generator. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onward.agents.candidates import CandidateGenerator, Proposals, Ranges, Space, registry
from onward.agents.costs import L1
from onward.agents.goals import Threshold
from onward.agents.objective import Objective
from onward.tests.support.spaces import scaled_space

FEATURE_OF = np.array([0, 1, 2, 2, 3])
COLUMNS = len(FEATURE_OF)
SMALLEST = 0.5
PEOPLE = 8


def rows(random: np.random.Generator, count: int) -> np.ndarray:
    """Encoded rows on a small grid, so that people and instances often agree; the third feature is one-hot."""
    found = random.choice([0.0, 0.25, 0.5, 1.0], (count, COLUMNS))
    found[:, 3] = 1.0 - (found[:, 2] > 0.5)
    found[:, 2] = 1.0 - found[:, 3]
    return found


def score(X: np.ndarray) -> np.ndarray:
    """Two features decide, and help each other."""
    return 0.6 * X[:, 4] + 0.3 * X[:, 1] * X[:, 4] + 0.2 * X[:, 2]


class Logistic(NamedTuple):
    """A linear score."""

    weights: np.ndarray
    bias: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-((X * self.weights).sum(axis=1) + self.bias)))


LOGISTIC = Logistic(np.array([0.0, 1.0, 0.8, 0.0, 2.5]), -2.5)
GOAL = Threshold(0.25)


def model_of(name: str, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """A linear score for those who need one, and for every other seed."""
    return LOGISTIC if registry[name].needs_linear_score or seed % 2 else score


def keeps_together(X: np.ndarray) -> np.ndarray:
    """A cross-feature constraint: who lives in the first kind of housing has an income."""
    return (X[:, 2] < 0.5) | (X[:, 1] > 0.2)


def drawn_ranges(random: np.random.Generator, features: int, one_hot: int) -> Ranges:
    """Bounds of 0 and 1, and largest changes, absolute and relative, of some of the features."""
    free = Ranges.between(np.zeros(features), np.ones(features))
    change, share = (random.choice([0.3, 0.5, np.inf, np.inf], features) for _ in range(2))
    change[one_hot] = share[one_hot] = np.inf
    return free._replace(largest_change=change, largest_share=share)


def build(name: str, seed: int, instances: int) -> tuple[CandidateGenerator, Space, np.ndarray]:
    """A generator under a model, and people."""
    random = np.random.default_rng(seed)
    mutable = [str(kind) for kind in random.choice(["none", "up", "down", "any", "any"], 4)]
    mutable[2] = "any" if mutable[2] in ("up", "down") else mutable[2]
    smallest = np.where(random.random(4) < 0.3, SMALLEST, 0.0)
    smallest[2] = 0.0
    names = ("age", "income", "housing", "debt")
    most = random.choice([None, 1, 2])
    space = scaled_space(FEATURE_OF, mutable, smallest, most, names, keeps_together, drawn_ranges(random, 4, 2))
    generator = registry[name].build(space, rows(random, instances), Objective(L1()))
    return generator.under(model_of(name, seed), GOAL), space, rows(random, PEOPLE)


def options_of(proposals: Proposals, person: int) -> list[tuple[int, bytes]]:
    own = proposals.people == person
    targets = proposals.points[proposals.point[own]]
    return [(arm, target.tobytes()) for arm, target in zip(proposals.arm[own].tolist(), targets, strict=True)]


def keeps_the_rules(space: Space, person: np.ndarray, target: np.ndarray) -> bool:
    changed = 0
    for feature, mutable in enumerate(space.mutable):
        change = (target - person)[feature == FEATURE_OF]
        if not change.any():
            continue
        changed += 1
        size = np.abs(change[change != 0]).min()
        allowed = {"none": False, "any": True, "up": (change >= 0).all(), "down": (change <= 0).all()}[mutable]
        ranges, own = space.ranges, np.abs(person[feature == FEATURE_OF]).max()
        largest = min(ranges.largest_change[feature], own * ranges.largest_share[feature] if own else np.inf)
        if not own and np.isfinite(ranges.largest_share[feature]):
            return False
        if not allowed or size < space.smallest_change[feature] - 1e-9 or np.abs(change).max() > largest + 1e-9:
            return False
    return 0 < changed <= (space.max_changes or len(space.mutable))


every = pytest.mark.parametrize("name", registry)
drawn = given(seed=st.integers(0, 2**32), instances=st.integers(0, 40))
quickly = settings(max_examples=12, deadline=None)


@every
@quickly
@drawn
def test_targets_keep_the_rules_and_are_by_person_and_then_by_arm(name: str, seed: int, instances: int) -> None:
    generator, space, people = build(name, seed, instances)
    proposals = generator.propose(people)
    targets = proposals.points[proposals.point]
    assert (model_of(name, seed)(targets) > GOAL.required).all()
    assert keeps_together(targets).all()
    assert all(keeps_the_rules(space, people[i], target) for i, target in zip(proposals.people, targets, strict=True))
    keys = list(zip(proposals.people.tolist(), proposals.arm.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert set(proposals.arm.tolist()) <= set(range(len(generator.arms)))
    assert generator.arms.shape[1] == proposals.points.shape[1] == COLUMNS


@every
@quickly
@drawn
def test_a_person_s_options_depend_on_no_one_else(name: str, seed: int, instances: int) -> None:
    generator, _, people = build(name, seed, instances)
    again, _, _ = build(name, seed, instances)
    batch, reversed_batch = generator.propose(people), again.propose(np.ascontiguousarray(people[::-1]))
    for i in range(PEOPLE):
        alone = generator.propose(people[i : i + 1])
        assert options_of(batch, i) == options_of(alone, 0) == options_of(reversed_batch, PEOPLE - 1 - i)


@every
@quickly
@drawn
@example(seed=67108863, instances=0)  # Nothing can change of anybody.
def test_explains_exactly_those_without_options(name: str, seed: int, instances: int) -> None:
    generator, _, people = build(name, seed, instances)
    with_options = set(generator.propose(people).people.tolist())
    for i, person in enumerate(people):
        if i in with_options:
            with pytest.raises(ValueError):  # noqa: PT011 -- each generator has words of its own
                generator.explain(person)
        else:
            assert generator.explain(person).reason


@every
def test_another_model_leaves_the_arms_alone(name: str) -> None:
    generator, _, people = build(name, 1, 40)
    other = generator.under(lambda X: np.zeros(len(X)), GOAL)
    assert np.array_equal(other.arms, generator.arms)
    assert not len(other.propose(people).arm)
    assert len(generator.propose(people).arm), "the generator it came from is as it was"


@every
def test_no_people_have_no_options(name: str) -> None:
    generator, _, people = build(name, 1, 40)
    assert not len(generator.propose(people[:0]).arm)


# --- many features, fine steps ---------------------------------------------------------------------------------------

MANY = 50
KINDS = 5
"""Numbers with a thousand steps each, and one feature of so many categories."""
MANY_FEATURE_OF = np.concatenate([np.arange(MANY), np.full(KINDS, MANY)])
INSTANCES = 60
MOST_ROWS = {
    "instances": lambda features, instances: 0,
    "linear": lambda features, instances: 32,
    "search": lambda features, instances: 14_000 + 24 * features,
    "adapted": lambda features, instances: instances + 64 * features,
}
"""The most rows that a generator scores for a person, by the number of features and of instances (docs/options.md);
``linear`` scores as many as ``search`` for a person whom a constraint across features limits."""


class Line:
    """A linear score over the first few features, or over all of them."""

    def __init__(self, random: np.random.Generator) -> None:
        self.weights = random.normal(0, 2, len(MANY_FEATURE_OF))
        self.weights[random.integers(4, MANY) :] = 0.0
        self.bias = float(random.uniform(-4, 0))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-(X @ self.weights + self.bias)))


class Bumps(Line):
    """The same with steps, and pairs of features that help each other: what an ensemble of trees looks like."""

    weights: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return super().__call__(np.floor(X * 7) / 7 * (0.3 + np.roll(X, 1, axis=1)))


class Counted:
    """A score that counts the rows it is asked for."""

    def __init__(self, line: Line) -> None:
        self._line, self.rows = line, 0
        if type(line) is Line:  # else it is no linear score
            self.weights, self.bias = line.weights, line.bias

    def __call__(self, X: np.ndarray) -> np.ndarray:
        self.rows += len(X)
        return self._line(X)


def many_rows(random: np.random.Generator, count: int) -> np.ndarray:
    """Encoded rows of thousandths, and a category."""
    return np.concatenate(
        [random.integers(0, 1001, (count, MANY)) / 1000, np.eye(KINDS)[random.integers(0, KINDS, count)]], axis=1
    )


def build_many(name: str, seed: int, required: float) -> tuple[CandidateGenerator, Counted, np.ndarray]:
    """A generator with many features and fine steps, its score, and people."""
    random = np.random.default_rng(seed)
    mutable = [str(kind) for kind in random.choice(["none", "up", "down", "any"], MANY, p=[0.1, 0.2, 0.2, 0.5])]
    most, ranges = random.choice([None, 1, 2, 3, 4]), drawn_ranges(random, MANY + 1, MANY)
    space = scaled_space(MANY_FEATURE_OF, [*mutable, "any"], max_changes=most, ranges=ranges)
    line = Line(random) if registry[name].needs_linear_score else Bumps(random)
    instances = many_rows(random, 20 * INSTANCES)
    instances = instances[np.argsort(-line(instances), kind="stable")[:INSTANCES]]
    generator, counted = registry[name].build(space, instances, Objective(L1())), Counted(line)
    people = many_rows(random, 4)
    people = people[line(people) <= required]
    return generator.under(counted, Threshold(required)), counted, people


@every
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), required=st.sampled_from([0.2, 0.6, 0.99]))
def test_the_work_is_bounded_and_options_change_different_features(name: str, seed: int, required: float) -> None:
    generator, counted, people = build_many(name, seed, required)
    for person in people:
        counted.rows = 0
        proposals = generator.propose(person[np.newaxis])
        assert counted.rows <= MOST_ROWS.get(name, MOST_ROWS["search"])(MANY + 1, INSTANCES)
        if not generator.copies_instances:
            changed = (proposals.points[proposals.point] != person) @ np.eye(MANY + 1)[MANY_FEATURE_OF] > 0
            assert len(np.unique(changed, axis=0)) == len(changed)
