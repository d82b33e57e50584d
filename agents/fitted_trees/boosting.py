"""Fitted gradient boosting of scikit-learn as sums of trees: the same raw predictions, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trees import LEAF, Tree, TreeSum, check_trees, down_to_float32, tree_sum


def gradient_boosting(estimator: Any, columns: int) -> TreeSum:
    """The trees of a fitted binary ``GradientBoostingClassifier``.

    Raises ValueError for a loss other than the log loss, or an initial estimator that looks at the row.
    """
    if estimator.loss != "log_loss":
        raise ValueError(f"GradientBoostingClassifier with loss {estimator.loss!r} is not supported (use 'log_loss')")
    if estimator.init not in (None, "zero"):
        raise ValueError("GradientBoostingClassifier with an init estimator is not supported (leave init out)")
    base = float(estimator._raw_predict_init(np.zeros((1, columns), dtype=np.float32))[0, 0])
    trees = [_tree(fitted.tree_, estimator.learning_rate) for fitted in estimator.estimators_[:, 0]]
    return check_trees(tree_sum(trees, base, logistic=True), columns)


def histogram_boosting(estimator: Any, columns: int) -> TreeSum:
    """The trees of a fitted binary ``HistGradientBoostingClassifier``.

    Encoded rows have no NaN, so the directions of missing values do not count. Raises ValueError for splits by
    categories: encoded columns are numbers.
    """
    trees = [_histogram_tree(predictor.nodes) for (predictor,) in estimator._predictors]
    return check_trees(tree_sum(trees, float(estimator._baseline_prediction[0, 0]), logistic=True), columns)


def _tree(tree: Any, scale: float) -> Tree:
    feature = np.where(tree.children_left == LEAF, LEAF, tree.feature)
    threshold = down_to_float32(tree.threshold)
    return Tree(feature, tree.children_left, tree.children_right, threshold, scale * tree.value[:, 0, 0])


def _histogram_tree(nodes: Any) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    if nodes["is_categorical"][~leaf].any():
        raise ValueError(
            "HistGradientBoostingClassifier splits by categories, which encoded columns do not have "
            "(set categorical_features=None)"
        )
    feature = np.where(leaf, LEAF, nodes["feature_idx"])
    left, right = (nodes[side].astype(np.int64) for side in ("left", "right"))
    return Tree(feature, left, right, nodes["num_threshold"], np.where(leaf, nodes["value"], 0.0))
