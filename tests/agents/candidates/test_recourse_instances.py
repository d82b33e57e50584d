from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import RecourseInstances, Space
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.testing.spaces import scaled_space

GRID = [0.0, 0.25, 0.5, 1.0]
FEATURE_OF = np.array([0, 1, 2, 2, 3])
"""Four features; the third is a one-hot group of two columns."""

NAMES = ("age", "income", "housing", "debt")
REASONS = ["not_valid_under_model", "constraint", "immutable", "direction", "step", "max_changes", "unchanged"]


def rows(size: int) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    row = st.tuples(*[st.sampled_from(GRID)] * 2, st.booleans(), st.sampled_from(GRID))
    return st.lists(row, min_size=size, max_size=size).map(
        lambda people: np.array([(a, b, c, not c, d) for a, b, c, d in people], dtype=float).reshape(-1, 5)
    )


@st.composite
def all_instances(draw: st.DrawFn) -> RecourseInstances:
    size = draw(st.integers(0, 5))
    truths = st.lists(st.sampled_from([True, True, True, False]), min_size=size, max_size=size)
    masks = truths.map(partial(np.array, dtype=bool))
    kinds = st.sampled_from(["none", "up", "down", "any", "any"])
    allowed = draw(masks)
    space = scaled_space(
        FEATURE_OF,
        mutable=(draw(kinds), draw(kinds), draw(st.sampled_from(["none", "any"])), draw(kinds)),
        smallest_change=np.array([draw(st.sampled_from([0.0, 0.5])), 0.0, 0.0, draw(st.sampled_from([0.0, 0.25]))]),
        max_changes=draw(st.sampled_from([None, 1, 2])),
        feature_names=NAMES,
        allowed=lambda _: allowed,
    )
    return RecourseInstances(space, draw(rows(size)), valid=draw(masks))


def mask(instances: RecourseInstances, people: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The instances that are feasible for each person, of shape (n, K)."""
    proposals = instances.propose(people)
    order = np.lexsort((proposals.arm, proposals.people))
    assert (order == np.arange(len(order))).all(), "by person, then by arm"
    assert np.array_equal(proposals.points[proposals.point], instances.arms[proposals.arm])
    found = np.zeros((len(people), len(instances.arms)), dtype=bool)
    found[proposals.people, proposals.arm] = True
    return found


def broken_rules(instances: RecourseInstances, person: np.ndarray[Any, Any], k: int) -> set[str]:
    """The rules by which a candidate is not feasible for a person, pair by pair and feature by feature."""
    broken = set()
    space = instances.space
    if not instances._valid[k]:
        broken.add("not_valid_under_model")
    if not instances._allowed[k]:
        broken.add("constraint")
    changed = 0
    for feature, mutable in enumerate(space.mutable):
        columns = [d for d in range(len(person)) if space.feature_of[d] == feature]
        old, new = person[columns].tolist(), instances.arms[k, columns].tolist()
        if old == new:
            continue
        changed += 1
        if mutable == "none":
            broken.add("immutable")
        if (mutable == "up" and new < old) or (mutable == "down" and new > old):
            broken.add("direction")
        if any(0 < abs(b - a) < space.smallest_change[feature] for a, b in zip(old, new, strict=True)):
            broken.add("step")
    if space.max_changes is not None and changed > space.max_changes:
        broken.add("max_changes")
    if not changed:
        broken.add("unchanged")
    return broken


@settings(max_examples=50)
@given(instances=all_instances(), people=rows(3))
def test_an_instance_is_proposed_when_it_breaks_no_rule(
    instances: RecourseInstances, people: np.ndarray[Any, Any]
) -> None:
    expected = [[not broken_rules(instances, person, k) for k in range(len(instances.arms))] for person in people]
    assert mask(instances, people).tolist() == expected


@settings(max_examples=50)
@given(instances=all_instances(), people=rows(1))
def test_the_explanation_is_the_rule_that_excludes_the_last_instances(
    instances: RecourseInstances, people: np.ndarray[Any, Any]
) -> None:
    person = people[0]
    left = [broken_rules(instances, person, k) for k in range(len(instances.arms))]
    if mask(instances, people).any():
        with pytest.raises(ValueError, match="no rule binds"):
            instances.explain(person)
        return
    expected = "no_candidates"
    for reason in REASONS if left else []:
        left = [broken for broken in left if reason not in broken]
        if not left:
            expected = reason
            break
    assert instances.explain(person).reason == expected


def one_instance(point: list[float], **changes: Any) -> RecourseInstances:
    space = scaled_space(FEATURE_OF, ("any", "any", "any", "any"), feature_names=NAMES)
    space = space._replace(**{name: value for name, value in changes.items() if name in Space._fields})
    arguments: dict[str, Any] = {"instances": np.array([point]), "valid": np.array([True])}
    return RecourseInstances(space, **(arguments | {k: v for k, v in changes.items() if k not in Space._fields}))


PERSON = np.array([0.5, 0.5, 1.0, 0.0, 0.5])


@pytest.mark.parametrize(
    ("changes", "explanation"),
    [
        (
            {"valid": np.array([False])},
            (
                "not_valid_under_model",
                "no recourse instance of 1 reaches the required score under the current model",
            ),
        ),
        (
            {"allowed": lambda _: np.array([False])},
            ("constraint", "no recourse instance of the 1 that the model accepts keeps the constraints"),
        ),
        (
            {"mutable": ("none", "none", "none", "any")},
            (
                "immutable",
                "no allowed change of debt leads to a recourse instance: each of the 1 that the model accepts and the "
                "constraints allow differs from the person in what may not change",
            ),
        ),
        (
            {"mutable": ("none", "down", "any", "up")},
            (
                "direction",
                "no allowed change of income, housing, debt leads to a recourse instance: each of the 1 that are like "
                "the person in what may not change needs a change of income and debt in a direction that is not "
                "allowed",
            ),
        ),
        (
            {"smallest_change": np.array([0.0, 0.3, 0.0, 0.1])},
            (
                "step",
                "no allowed change of age, income, housing, debt leads to a recourse instance: each of the 1 that are "
                "like the person in what may not change needs a change of income that is smaller than the smallest "
                "step",
            ),
        ),
        ({"max_changes": 2}, ("max_changes", "at least 3 features would change, 2 may")),
    ],
)
def test_the_detail_names_the_features(changes: dict[str, Any], explanation: tuple[str, str]) -> None:
    instances = one_instance([0.5, 0.75, 0.0, 1.0, 0.25], **changes)
    assert instances.explain(PERSON)[:2] == explanation


def test_features_that_bind_together_are_all_named() -> None:
    points = np.array([[0.0, 0.5, 1.0, 0.0, 1.0], [0.5, 0.0, 1.0, 0.0, 1.0]])
    instances = one_instance([], instances=points, valid=np.array([True, True]), mutable=("up", "up", "any", "any"))
    reason, detail, *_ = instances.explain(PERSON)
    assert reason == "direction"
    assert detail.endswith(" needs a change of age or income in a direction that is not allowed")


def test_a_feature_that_binds_alone_is_named_alone() -> None:
    points = np.array([[0.0, 0.0, 1.0, 0.0, 1.0], [0.0, 0.5, 1.0, 0.0, 1.0]])
    instances = one_instance([], instances=points, valid=np.array([True, True]), mutable=("up", "up", "any", "any"))
    reason, detail, *_ = instances.explain(PERSON)
    assert reason == "direction"
    assert detail.endswith(" needs a change of age in a direction that is not allowed")


def test_a_change_of_category_is_one_change() -> None:
    assert mask(one_instance([0.5, 0.5, 0.0, 1.0, 0.5], max_changes=1), PERSON[None]).all()


def test_a_step_may_miss_by_rounding() -> None:
    step = np.array([0.1, 0.0, 0.0, 0.0])
    person = np.array([[0.3, 0.5, 1.0, 0.0, 0.5]])
    assert 0.3 - 0.2 < 0.1
    assert mask(one_instance([0.2, 0.5, 1.0, 0.0, 0.5], smallest_change=step), person).all()


def test_zero_has_no_sign() -> None:
    instances = one_instance([0.0, 1.0, 1.0, 0.0, 0.5], mutable=("none", "any", "any", "any"))
    assert mask(instances, np.array([[-0.0, 0.5, 1.0, 0.0, 0.5]])).all()


def test_a_new_model_accepts_others() -> None:
    instances = one_instance([1.0, 1.0, 1.0, 0.0, 0.5], max_changes=2)
    assert mask(instances, PERSON[None]).all()
    assert not mask(instances.under(lambda rows: np.array([0.5]), ThresholdGoal(0.5)), PERSON[None]).any()
    assert mask(instances, PERSON[None]).all()


def test_a_row_does_not_depend_on_the_batch() -> None:
    generator = np.random.default_rng(0)
    points, people = generator.integers(0, 4, (2000, 5)) / 3, generator.integers(0, 4, (50, 5)) / 3
    space = scaled_space(np.arange(5), ("none", "up", "down", "any", "any"), np.full(5, 0.5), 3)
    instances = RecourseInstances.build(space, points, Objective(L1()))
    batch = mask(instances, people)
    assert batch.any()
    for person, row in zip(people, batch, strict=True):
        assert (mask(instances, person[None])[0] == row).all()
