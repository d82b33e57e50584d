"""The walk of trees for many rows gives every row what it gets alone, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from onward.agents.tree_walk import SET, SETS, Boxes, Walk
from onward.agents.trees import Tree, TreeSum, check_trees, tree_sum
from onward.streams.programs.models.scoring import scorer

VALUES = np.array([-np.inf, -1.0, -0.1, 0.0, -0.0, 0.1, np.float32(0.1), 0.5, 1.0, 1e300, np.inf, np.nan])
"""Many are thresholds, too. The third and those beside 0.1 are other numbers as float32."""


def random_tree(random, columns, leaves, dtype):
    """Leaves are parted in any order, so that the nodes are not in the order of a walk."""
    feature, left, right = [-1], [0], [0]
    for _ in range(leaves - 1):
        node = random.choice([number for number, column in enumerate(feature) if column < 0])
        feature[node], left[node], right[node] = random.integers(columns), len(feature), len(feature) + 1
        for grown, new in ((feature, -1), (left, 0), (right, 0)):
            grown += [new, new]
    with np.errstate(over="ignore"):
        threshold = random.choice(VALUES[:-1], len(feature)).astype(dtype)
    return Tree(np.array(feature), np.array(left), np.array(right), threshold, random.normal(size=len(feature)))


def random_sum(random, trees, columns, dtype):
    sizes = random.choice([1, 2, 5, 40], trees)
    return check_trees(tree_sum([random_tree(random, columns, n, dtype) for n in sizes], 0.25, logistic=False), columns)


def variants(random, rows, columns, owners, changes):
    """Rows of some owners, one owner after the other, of which at most so many columns are others than the owner's."""
    own = random.choice(VALUES, (max(owners, 1), columns))
    X = own[np.sort(random.integers(max(owners, 1), size=rows))]
    for row in X:
        changed = random.integers(columns, size=random.integers(changes + 1))
        row[changed] = random.choice(VALUES, len(changed))
    return X


def one_by_one(trees, group, X):
    """The sums of each group, (G, n), by a walk of each row through each tree."""
    total = np.full((group.max() + 1, len(X)), 0.5)
    with np.errstate(over="ignore"):
        rows = X.astype(trees.threshold.dtype)
    for root, own in zip(trees.roots, group, strict=True):
        for i, row in enumerate(rows):
            node = root
            while trees.nodes[node, 0] >= 0:
                column, left, right = trees.nodes[node]
                node = left if row[column] <= trees.threshold[node] else right
            total[own, i] += trees.value[node]
    return total


def walked(trees, group, X):
    total = np.full((group.max() + 1, len(X)), 0.5)
    with np.errstate(over="ignore"):
        Walk.from_trees(trees.roots, trees.nodes, trees.threshold, trees.value).add_leaves(X, group, total)
    return total


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([0, 1, 2, 3, 33, 63, 64, 65, 130]),
    columns=st.sampled_from([1, 2, 5, 40]),
    owners=st.sampled_from([1, 2, 9, 130]),
    changes=st.sampled_from([0, 1, 3, 40]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@example(seed=1, rows=130, columns=40, owners=1, changes=1, dtype=np.float32)
@example(seed=1, rows=130, columns=40, owners=130, changes=40, dtype=np.float64)
def test_rows_get_together_what_each_gets_alone(seed, rows, columns, owners, changes, dtype):
    random = np.random.default_rng(seed)
    trees = random_sum(random, 7, columns, dtype)
    group = np.sort(random.integers(3, size=7))
    X = variants(random, rows, columns, owners, changes)
    assert walked(trees, group, X).tobytes() == one_by_one(trees, group, X).tobytes()


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    grids=st.sampled_from([0, 1, 5]),
    axes=st.sampled_from([1, 2, 4]),
    places=st.sampled_from([1, 2, 9]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_points_of_grids_get_what_their_rows_get(seed, grids, axes, places, dtype):
    """Columns ascend or descend, share an axis or stay, and have values on thresholds."""
    random = np.random.default_rng(seed)
    trees, columns = random_sum(random, 7, 6, dtype), random.permutation(6)[:4]
    values = np.sort(random.choice(VALUES[:-1], (2, 4, places)), axis=2)
    down = random.random((2, 4)) < 0.5
    values[down] = values[down, ::-1]
    owner, axis = random.integers(2, size=grids), random.integers(-1, axes, size=(grids, 4))
    size = random.integers(1, places + 1, size=(grids, axes))
    boxes = Boxes(random.choice(VALUES[:-1], (2, 6)), columns, values, owner, axis, size)
    numbers = np.arange(boxes.first[-1])
    rows, total = boxes.points(numbers), np.full(len(numbers), 0.25)
    with np.errstate(over="ignore"):
        trees.walk.add_leaves_of(boxes, total)
        assert total.tobytes() == trees.total(rows).tobytes()
    for grid, (own, first) in enumerate(zip(owner.tolist(), boxes.first.tolist(), strict=False)):
        for number, place in enumerate(np.ndindex(*size[grid])):
            row = boxes.rows[own].copy()
            for column, along, its in zip(columns, axis[grid], values[own], strict=True):
                row[column] = row[column] if along < 0 else its[place[along]]
            assert rows[first + number].tobytes() == row.tobytes()


@pytest.mark.parametrize("changes", [1, 2000])
def test_two_thousand_columns(changes):
    random = np.random.default_rng(0)
    trees = random_sum(random, 5, 2000, np.float32)
    X, group = variants(random, 70, 2000, 1, changes), np.zeros(5, dtype=np.intp)
    assert walked(trees, group, X).tobytes() == one_by_one(trees, group, X).tobytes()


@pytest.mark.parametrize(("columns", "word"), [(1, np.uint32), (2**20, np.uint64)])
def test_a_column_and_a_distance_that_need_many_bits(columns, word):
    """A leaf to the right of each of many nodes, the first node's behind all others."""
    depth = 2**12
    node = np.arange(2 * depth + 1)
    inner = node < depth
    tree = Tree(
        np.where(inner, columns - 1, -1),
        np.where(inner, node + 1, 0),
        np.where(inner, 2 * depth - node, 0),
        -1.0 * node,
        1.0 * node,
    )
    trees = check_trees(tree_sum([tree], 0.5, logistic=False), columns)
    X = np.zeros((3, columns))
    X[:, -1] = [0.5, -7.5, -depth]
    assert trees.walk.words.dtype == word
    assert trees.total(X).tolist() == one_by_one(trees, np.zeros(1, dtype=np.intp), X)[0].tolist()


def test_more_rows_than_are_walked_at_once():
    random = np.random.default_rng(0)
    trees = random_sum(random, 2, 3, np.float32)
    X, group = variants(random, SET * SETS + 70, 3, 50, 1), np.array([0, 1])
    assert walked(trees, group, X).tobytes() == one_by_one(trees, group, X).tobytes()


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(20, random_state=0),
        GradientBoostingClassifier(n_estimators=20, random_state=0),
        HistGradientBoostingClassifier(max_iter=20),
    ],
)
def test_variants_score_as_scikit_learn_scores_them(estimator):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 6)).round(1)
    estimator.fit(X, X[:, 0] + X[:, 1] > random.normal(size=500))
    rows = np.repeat(X[:3], 50, axis=0)
    rows[np.arange(150), random.integers(6, size=150)] = random.normal(size=150).round(1)
    score = scorer(estimator, 6).score
    assert score(rows) == pytest.approx(estimator.predict_proba(rows)[:, 1], abs=1e-12)
    assert score(rows).tolist() == [score(row[np.newaxis]).item() for row in rows]


def test_a_node_that_is_the_child_of_two_is_refused():
    """A walk of a hundred such nodes would never end."""
    node = np.arange(101)
    feature = np.where(node < 100, 0, -1)
    child = np.where(node < 100, node + 1, 0)
    trees = TreeSum(
        np.array([0]),
        np.stack([feature, child, child], axis=1).astype(np.int32),
        np.zeros(101),
        np.ones(101),
        0.0,
        logistic=False,
    )
    with pytest.raises(ValueError, match="the child of two"):
        check_trees(trees, 1)
