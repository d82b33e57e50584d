"""Trees in flat arrays: their file, and what a foreign file must be."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from onward.agents.trees import Tree, dump_trees, load_trees, tree_sum
from onward.streams.programs.models.scoring import scorer

STUMP = Tree(
    np.array([0, -1, -1]),
    np.array([1, 0, 0]),
    np.array([2, 0, 0]),
    np.array([0.5, 0.0, 0.0], dtype=np.float32),
    np.array([0.0, 0.25, 0.5]),
)
SUM = tree_sum([STUMP, STUMP], 0.125, logistic=False)
ROWS = np.array([[0.5], [0.6]])


def file(**changes):
    with np.load(io.BytesIO(dump_trees(SUM))) as arrays:
        content = io.BytesIO()
        np.savez(content, **{**arrays, **changes})
    return content.getvalue()


def test_a_score_is_the_base_and_a_leaf_of_every_tree():
    assert SUM.score(ROWS).tolist() == [0.625, 1.0]
    assert SUM.mapped(2.0, -1.0, logistic=True).score(ROWS).tolist() == pytest.approx(
        (1 / (1 + np.exp([-0.25, -1.25]))).tolist()
    )


def test_a_file_gives_the_same_scores_and_equal_trees_equal_bytes():
    random = np.random.default_rng(0)
    X = random.random((300, 4))
    trees = scorer(HistGradientBoostingClassifier(max_iter=10).fit(X, X[:, 0] > 0.4), 4)
    content = dump_trees(trees)
    assert load_trees(content, 4).score(X).tobytes() == trees.score(X).tobytes()
    assert dump_trees(load_trees(content, 4)) == content


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"nodes": np.full((6, 3), 0, dtype=np.int32)}, "child does not come after it"),
        ({"nodes": np.array([[0, 1, 4], *[[-1, 0, 0]] * 5], dtype=np.int32)}, "child does not come after it"),
        ({"nodes": np.array([[3, 1, 2], *[[-1, 0, 0]] * 5], dtype=np.int32)}, "ask for column 3, the spec has 1"),
        ({"nodes": np.zeros((5, 3), dtype=np.int32)}, "different lengths"),
        ({"roots": np.array([0, 6])}, "roots of its trees are not in ascending order"),
        ({"roots": np.array([0, 0])}, "roots of its trees are not in ascending order"),
        ({"value": np.full(6, np.inf)}, "not finite"),
        ({"threshold": np.zeros(6, dtype=np.float16)}, "array threshold is of float16 with 1 dimensions"),
        ({"value": np.array([{}] * 6)}, "Object arrays cannot be loaded"),
    ],
)
def test_a_foreign_file_must_hold_trees(changes, says):
    with pytest.raises(ValueError, match=says):
        load_trees(file(**changes), 1)
