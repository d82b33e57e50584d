"""The forest against sums worked out from its rows, and against scikit-learn's trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from onward.agents.choices.components.pull_buffer import PullBuffer, pairs_of
from onward.agents.choices.components.regression_forest import OnlineForest

POINTS = np.random.default_rng(0).random((30, 3))


def append(rows: PullBuffer, step: int, person: np.ndarray, arm: int) -> int:
    return rows.append(step, arm, pairs_of(person, POINTS[arm : arm + 1])[0])


def filled(count: int, memory: int = 200, seed: int = 1) -> PullBuffer:
    """Rows whose reward depends on person and change."""
    generator = np.random.default_rng(seed)
    rows = PullBuffer(POINTS, memory)
    for step in range(count):
        slot = append(rows, step, generator.random(3).round(1), int(generator.integers(30)))
        rows.reward(slot, float(generator.random() < chance(rows.pairs[slot : slot + 1])[0]))
    return rows


def chance(pairs: np.ndarray) -> np.ndarray:
    return np.clip(0.9 - np.abs(pairs[:, 3]) + 0.3 * (pairs[:, 0] > 0.5), 0, 1)


def grown(rows: PullBuffer, trees: int = 7, bag: float = 0.5, seed: int = 2) -> OnlineForest:
    forest, generator = OnlineForest(trees, 200, bag), np.random.default_rng(seed)
    for tree in range(trees):
        forest.regrow(tree, rows, generator)
    return forest


def leaf_of(state: dict[str, np.ndarray], offset: int, pair: np.ndarray) -> int:
    node = offset
    while state["column"][node] >= 0:
        node = offset + state["child"][node] + (pair[state["column"][node]] > state["threshold"][node])
    return node


def assert_leaves_hold_their_rows(forest: OnlineForest, rows: PullBuffer) -> None:
    state = forest.state(len(rows))
    offsets = np.cumsum([0, *state["nodes"][:-1]])
    for tree, offset in enumerate(offsets):
        sums = np.zeros((3, len(state["column"])))
        for slot, pair in enumerate(rows.pairs):
            times, label = state["bags"][slot, tree], rows.rewards[slot]
            sums[:, leaf_of(state, offset, pair)] += times * np.array([1.0, label, label * label])
        own = slice(offset, offset + state["nodes"][tree])
        leaves = state["column"][own] < 0
        for name, expected in zip(("weight", "total", "squares"), sums, strict=True):
            np.testing.assert_allclose(state[name][own][leaves], expected[own][leaves], atol=1e-9, err_msg=name)


def test_a_grown_tree_ends_where_labels_or_rows_are_alike() -> None:
    rows = filled(150)
    state = grown(rows).state(150)
    assert_leaves_hold_their_rows(grown(rows), rows)
    leaves = state["column"] < 0
    weight, total = state["weight"][leaves], state["total"][leaves]
    assert (weight > 0).all()
    mixed = (total > 0) & (total < weight)
    assert mixed.mean() < 0.05, "only the same person with the same change has both"


def test_rows_that_come_change_and_go_keep_their_leaves_right() -> None:
    rows = filled(100)
    forest, generator = grown(rows), np.random.default_rng(5)
    for step in range(100, 160):
        slot = append(rows, step, generator.random(3), int(generator.integers(30)))
        forest.add(slot, rows.pairs[slot], generator)
    for slot in range(90, 130, 3):
        forest.relabel(slot, rows.pairs[slot], rows.rewards[slot], 0.5)
        rows.reward(slot, 0.5)
    for slot in range(0, 140, 7):
        forest.remove(slot, rows.pairs[slot], rows.rewards[slot])
        rows.drop(slot)
    assert_leaves_hold_their_rows(forest, rows)
    assert not forest.state(160)["bags"][::7][:20].any()


def test_new_rows_are_in_bags_as_often_as_drawing_would_have_put_them_there() -> None:
    rows, forest, generator = filled(100), OnlineForest(400, 200, 0.25), np.random.default_rng(0)
    for slot in range(100):
        forest.add(slot, rows.pairs[slot], generator)
    assert forest.state(100)["bags"].mean() == pytest.approx(0.25, abs=0.01)


def test_mean_and_deviation_are_those_of_the_leaves_mixture() -> None:
    rows = filled(120)
    forest = grown(rows, trees=5)
    mean, deviation = forest.score(rows.pairs[:20])
    state = forest.state(120)
    offsets = np.cumsum([0, *state["nodes"][:-1]])
    for f in range(20):
        nodes = [leaf_of(state, offset, rows.pairs[f]) for offset in offsets]
        means = state["total"][nodes] / state["weight"][nodes]
        variances = state["squares"][nodes] / state["weight"][nodes] - means**2
        assert mean[f] == pytest.approx(means.mean())
        mixture = (variances + means**2).mean() - means.mean() ** 2
        assert deviation[f] == pytest.approx(np.sqrt(max(mixture, 0.0)), abs=1e-7)


def test_predicts_as_well_as_extra_trees_do() -> None:
    rows, asked = filled(190), filled(190, seed=9).pairs
    truth = chance(asked)
    own, _ = grown(rows, trees=200, bag=0.25).score(asked)
    theirs = ExtraTreesRegressor(200, bootstrap=True, max_samples=0.25, random_state=0).fit(rows.pairs, rows.rewards)
    errors = [np.mean((found - truth) ** 2) for found in (own, theirs.predict(asked))]
    assert errors[0] == pytest.approx(errors[1], rel=0.15)
    assert np.corrcoef(own, theirs.predict(asked))[0, 1] > 0.9


def test_nobody_in_the_bag_gives_an_empty_leaf() -> None:
    rows = filled(3)
    for slot in range(3):
        rows.drop(slot)
    forest = grown(rows)
    assert forest.state(3)["nodes"].tolist() == [1] * 7
    mean, deviation = forest.score(POINTS.repeat(2, axis=1))
    assert not mean.any()
    assert not deviation.any()
