"""The laws of every candidate generator. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import CandidateGenerator, Proposals, Space, registry
from onward.agents.costs import L1
from onward.agents.goals import Threshold
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


GOAL = Threshold(0.25)


def keeps_together(X: np.ndarray) -> np.ndarray:
    """A cross-feature constraint: who lives in the first kind of housing has an income."""
    return (X[:, 2] < 0.5) | (X[:, 1] > 0.2)


def build(name: str, seed: int, instances: int) -> tuple[CandidateGenerator, Space, np.ndarray]:
    """A generator under a model, and people."""
    random = np.random.default_rng(seed)
    mutable = [str(kind) for kind in random.choice(["none", "up", "down", "any", "any"], 4)]
    mutable[2] = "any" if mutable[2] in ("up", "down") else mutable[2]
    smallest = np.where(random.random(4) < 0.3, SMALLEST, 0.0)
    smallest[2] = 0.0
    names = ("age", "income", "housing", "debt")
    space = scaled_space(FEATURE_OF, mutable, smallest, random.choice([None, 1, 2]), names, keeps_together)
    generator = registry[name].build(space, rows(random, instances), L1())
    return generator.under(score, GOAL), space, rows(random, PEOPLE)


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
        if not allowed or size < space.smallest_change[feature] - 1e-9:
            return False
    return 0 < changed <= (space.max_changes or len(space.mutable))


every = pytest.mark.parametrize("name", registry)
drawn = given(seed=st.integers(0, 2**32), instances=st.integers(0, 40))
quickly = settings(max_examples=30, deadline=None)


@every
@quickly
@drawn
def test_never_proposes_a_target_that_the_rules_or_the_model_exclude(name: str, seed: int, instances: int) -> None:
    generator, space, people = build(name, seed, instances)
    proposals = generator.propose(people)
    targets = proposals.points[proposals.point]
    assert (score(targets) > GOAL.required).all()
    assert keeps_together(targets).all()
    assert all(keeps_the_rules(space, people[i], target) for i, target in zip(proposals.people, targets, strict=True))


@every
@quickly
@drawn
def test_proposals_are_by_person_and_then_by_arm_each_arm_once(name: str, seed: int, instances: int) -> None:
    generator, _, people = build(name, seed, instances)
    proposals = generator.propose(people)
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
def test_explains_exactly_those_without_options(name: str, seed: int, instances: int) -> None:
    generator, _, people = build(name, seed, instances)
    with_options = set(generator.propose(people).people.tolist())
    for i, person in enumerate(people):
        if i in with_options:
            with pytest.raises(ValueError, match="feasible"):
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
