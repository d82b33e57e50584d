from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.costs import Columns, Lesson, MixedCost, Preferences, served

PRIOR = np.array([0.6, 0.6, 0.0])


@st.composite
def lessons(draw: st.DrawFn) -> Lesson:
    seen = np.array([draw(st.floats(0.0, 1.0)) for _ in PRIOR])
    return Lesson(seen * draw(st.floats(0.0, 1.0)), seen)


@given(known=st.lists(lessons(), max_size=8), order=st.randoms())
def test_the_order_of_picks_does_not_matter(known: list[Lesson], order: st.DataObject) -> None:
    one, other = Preferences(PRIOR), Preferences(PRIOR)
    shuffled = list(known)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    for lesson in known:
        one.learn(lesson)
    for lesson in shuffled:
        other.learn(lesson)
    assert one.shares.tobytes() == other.shares.tobytes()


@given(first=st.lists(lessons(), max_size=5), second=st.lists(lessons(), max_size=5))
def test_what_two_have_learned_adds_up(first: list[Lesson], second: list[Lesson]) -> None:
    both, one, other = (Preferences(PRIOR) for _ in range(3))
    for lesson in first:
        both.learn(lesson)
        one.learn(lesson)
    for lesson in second:
        both.learn(lesson)
        other.learn(lesson)
    one.add(other.state())
    assert one.shares.tobytes() == both.shares.tobytes()


def test_where_picks_were_lost_that_are_taken_back_the_others_count() -> None:
    lost, known = Lesson(np.ones(3), np.ones(3)), Lesson(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]))
    preferences = Preferences(PRIOR)
    preferences.add({"editable": -lost.editable, "seen": -lost.seen})
    assert ((preferences.shares > 0.0) == (PRIOR > 0.0)).all()
    preferences.add({"editable": lost.editable, "seen": lost.seen})
    preferences.learn(known)
    only = Preferences(PRIOR)
    only.learn(known)
    assert preferences.shares.tobytes() == only.shares.tobytes()


def test_a_feature_that_nobody_picks_stays_possible_and_a_fixed_one_does_not_become_so() -> None:
    preferences = Preferences(PRIOR)
    for _ in range(10_000):
        preferences.learn(Lesson(np.array([0.0, 1.0, 1.0]), np.ones(3)))
    assert preferences.shares.tolist() == [0.02, 0.98, 0.0]


def test_what_was_learned_long_ago_counts_less() -> None:
    remembering, forgetting = Preferences(PRIOR), Preferences(PRIOR, memory=20.0)
    for share in (1.0, 0.0):
        for _ in range(200):
            for preferences in (remembering, forgetting):
                preferences.learn(Lesson(np.full(3, share), np.ones(3)))
    assert remembering.shares[0] == pytest.approx(0.5, abs=0.01)
    assert forgetting.shares[0] < 0.25
    assert forgetting.picks == pytest.approx(1.0 / (1.0 - math.exp(-1 / 20)), rel=0.01)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"editable": np.zeros(3)},
        {"editable": np.zeros(2), "seen": np.zeros(2)},
        {"editable": np.full(3, np.nan), "seen": np.ones(3)},
    ],
)
def test_a_state_that_is_none_is_refused_and_changes_nothing(state: dict[str, np.ndarray]) -> None:
    preferences = Preferences(PRIOR)
    preferences.learn(Lesson(np.ones(3), np.ones(3)))
    before = preferences.shares
    with pytest.raises(ValueError, match="state"):
        preferences.restore(state)
    assert preferences.shares.tobytes() == before.tobytes()
    restored = Preferences(PRIOR).restore(preferences.state())
    assert restored.shares.tobytes() == before.tobytes()


def test_a_lesson_counts_as_far_as_a_pick_tells_who_would_have_made_it() -> None:
    costs = np.array([[0.2, 0.2, np.inf, 3.0], [0.5, 0.1, np.inf, 2.0]])
    editable = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    found = served(costs, editable, np.array([[1, 0, 0], [1, 1, 0]], dtype=bool), limit=1.0)
    assert found.suits.tolist() == [0.25, 0.5]
    assert found.satisfied == 0.5
    mean, groups = np.array([0.75, 0.5]), np.array([[1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    seen = np.array([0.25, 0.25, 0.5]) @ (groups - mean) ** 2 / (mean * (1.0 - mean))
    for lesson, group in zip(found.lessons, groups, strict=True):
        assert lesson.seen.tolist() == pytest.approx([*seen, 0.0]), "no option changes the last one"
        assert lesson.editable.tolist() == pytest.approx([*(seen * mean + group - mean), 0.0])


@pytest.mark.parametrize(("limit", "seen"), [(1.0, 1.0), (0.1, 0.0)])
def test_a_pick_tells_all_of_a_feature_that_decides_it_and_nothing_where_nobody_takes_anything(limit, seen) -> None:
    editable = np.array([[1], [1], [0], [0]], dtype=bool)
    found = served(np.where(editable.T, 0.5, np.inf), editable, np.array([[True]]), limit)
    assert found.lessons[1].seen.tolist() == [seen]
    assert found.lessons[1].editable.tolist() == [0.0]
    if seen:
        assert found.lessons[0].editable.tolist() == [1.0]


def test_an_option_that_costs_just_what_people_would_spend_satisfies_them() -> None:
    limit = 0.75
    costs = np.array([[limit, np.nextafter(limit, 1.0), np.inf]])
    found = served(costs, np.ones((3, 1), dtype=bool), np.array([[True]]), limit)
    assert found.satisfied == pytest.approx(1 / 3)


def test_the_pick_of_what_suits_nobody_says_that_its_features_can_change() -> None:
    found = served(np.full((1, 2), np.inf), np.zeros((2, 2), dtype=bool), np.array([[True, False]]), limit=1.0)
    assert found.suits.tolist() == [0.0]
    assert found.lessons[0].editable.tolist() == found.lessons[0].seen.tolist() == [1.0, 0.0]


def test_without_options_nobody_is_satisfied() -> None:
    found = served(np.zeros((0, 3)), np.ones((3, 2), dtype=bool), np.zeros((0, 2), dtype=bool), limit=1.0)
    assert (len(found.suits), found.satisfied) == (0, 0.0)
    assert found.lessons[0].seen.tolist() == [0.0, 0.0]


def test_a_population_is_learned_from_its_picks() -> None:
    """People of whom few touch most features pick among three options; what they teach comes near the truth."""
    random = np.random.default_rng(0)
    features, truth = 6, np.array([0.85, 0.85, 0.12, 0.12, 0.12, 0.12])
    columns = Columns(np.arange(features), np.ones(features, dtype=bool))
    prior = MixedCost(columns, random.random((100, features)), 300, 0)
    preferences = prior.preferences()
    each, nobody = np.arange(3), np.zeros(3, dtype=np.intp)
    for _ in range(400):
        changed = np.array([np.isin(np.arange(features), random.permutation(features)[:1]) for _ in each])
        targets = np.where(changed, 0.75, 0.5)
        cost = prior.with_shares(preferences.shares)
        costs = cost.costs(cost.shifts(targets, np.full((1, features), 0.5), each, nobody))
        lessons = served(costs, cost.editable, changed, 1.0).lessons
        person = random.random(features) < truth
        willing = [option for option in each if person[changed[option]].all()]
        preferences.learn(lessons[random.choice(willing) if willing else -1])
    assert preferences.shares.tolist() == pytest.approx(truth.tolist(), abs=0.12)
