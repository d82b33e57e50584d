"""Tree ensembles of ONNX files as sums of trees, so that they are scored without onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....agents.trees import LEAF, Tree, TreeSum, check_trees, tree_sum
from .matrix import Layout

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

Floats = NDArray[np.float64]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
"""Comparisons that have an order. A test for equality stays with onnxruntime."""
PASSING = ("Identity", "ZipMap")


def flattened(model: ModelProto, column: int, columns: int, layout: Layout | None = None) -> TreeSum | None:
    """The trees of a model that is one tree ensemble over a matrix, as trees over ``columns`` encoded columns.

    None where it is anything else. ``column`` is the position of the desired class; ``layout`` says what the matrix
    holds, if not all encoded columns. Raises ValueError for an ensemble that is not made of trees.
    """
    node = _only_ensemble(model)
    if node is None:
        return None
    width = columns if layout is None else len(layout.columns)
    attributes = {attribute.name: _value(attribute) for attribute in node.attribute}
    try:
        trees = _sum(node.op_type, attributes, column, width)
    except (LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"the attributes of its {node.op_type} do not fit together: {error}") from None
    if trees is None or layout is None:
        return trees
    from onnx import TensorProto

    # Between two float32 there is another order of float64: what compares these stays with onnxruntime.
    if layout.matrix.raw and model.graph.input[0].type.tensor_type.elem_type == TensorProto.DOUBLE:
        return None
    moved = _over_encoded(trees, layout)
    return None if moved is None else check_trees(moved, columns)


def _over_encoded(trees: TreeSum, layout: Layout) -> TreeSum | None:
    """The trees over the encoded columns; None where they split categories by their order."""
    nodes, asked = trees.nodes.copy(), trees.nodes[:, 0]
    threshold = trees.threshold.astype(np.float64) if layout.matrix.raw else trees.threshold.copy()
    for number, column in enumerate(layout.columns):
        splits = asked == number
        nodes[splits, 0] = column.place
        if layout.matrix.raw and splits.any():
            split = layout.split(number, trees.threshold[splits].astype(np.float32))
            if split is None:
                return None
            threshold[splits] = split
    return replace(trees, nodes=nodes, threshold=threshold)


def _sum(operator: str, attributes: Mapping[str, Any], column: int, columns: int) -> TreeSum | None:
    form = _classifier(attributes, column) if operator == "TreeEnsembleClassifier" else _regressor(attributes)
    modes = set(attributes["nodes_modes"]).difference({"LEAF"})
    if form is None or not modes.issubset(MODES) or any(name.endswith("_as_tensor") for name in attributes):
        return None
    weights, base, logistic = form
    return check_trees(tree_sum(_trees(attributes, weights), base, logistic=logistic), columns)


def _only_ensemble(model: ModelProto) -> NodeProto | None:
    """The ensemble that takes the model's input and makes its output, through operators that change nothing."""
    graph = model.graph
    ensembles = [node for node in graph.node if node.op_type in ("TreeEnsembleClassifier", "TreeEnsembleRegressor")]
    constants = {tensor.name: tensor for tensor in graph.initializer}
    inputs = [entry.name for entry in graph.input if entry.name not in constants]
    if len(ensembles) != 1 or list(ensembles[0].input) != inputs:
        return None
    made = {output: node for node in graph.node for output in node.output}
    name = graph.output[0].name
    for _ in graph.node:  # a chain without circles is no longer
        node = made.get(name)
        if node is not None and node is ensembles[0]:
            return node if name == node.output[-1] else None
        if node is None or not _passes(node, constants):
            return None
        name = node.input[0]
    return None


def _passes(node: NodeProto, constants: Mapping[str, Any]) -> bool:
    """Whether an operator hands on its first input unchanged."""
    if node.op_type == "Mul":
        return len(node.input) == 2 and _is_one(constants.get(node.input[1]))
    return node.op_type in PASSING and len(node.input) > 0


def _is_one(tensor: Any) -> bool:
    from onnx import numpy_helper

    return tensor is not None and bool(numpy_helper.to_array(tensor).tolist() in (1.0, [1.0]))


def _value(attribute: Any) -> Any:
    from onnx.helper import get_attribute_value

    value = get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if attribute.strings:
        return [text.decode() for text in value]
    if attribute.floats:
        return np.asarray(value, dtype=np.float32).astype(np.float64)
    return np.asarray(value) if attribute.ints else value


Weights = Mapping[tuple[int, int], float]
"""The number that a leaf adds, by its tree and node."""


def _classifier(attributes: Mapping[str, Any], column: int) -> tuple[Weights, float, bool] | None:
    """The weights of the desired class, the base, and whether the logistic function follows."""
    link = attributes.get("post_transform", "NONE")
    ids, weights = attributes["class_ids"], attributes["class_weights"]
    base = attributes.get("base_values", np.zeros(0))
    desired = 1.0 if column else -1.0
    is_single = len(np.unique(ids)) == 1 and len(base) < 2
    if is_single and link in ("LOGISTIC", "NONE"):
        start = float(base.sum()) * desired + (1.0 if link == "NONE" and not column else 0.0)
        return _by_leaf(attributes, "class", desired * weights), start, link == "LOGISTIC"
    # onnxruntime adds the bases of two classes, and leaves without a weight of one of them, in a way of its own.
    if is_single or len(base) or not _weighs_both(attributes) or link not in ("LOGISTIC", "NONE", "SOFTMAX"):
        return None
    if link == "SOFTMAX":  # of two classes: the logistic function of their difference
        return _by_leaf(attributes, "class", np.where(ids == column, weights, -weights)), 0.0, True
    return _by_leaf(attributes, "class", np.where(ids == column, weights, 0.0)), 0.0, link == "LOGISTIC"


def _weighs_both(attributes: Mapping[str, Any]) -> bool:
    """Whether every leaf has a weight of each of two classes."""
    weighed = set(zip(*(attributes[f"class_{name}"].tolist() for name in ("treeids", "nodeids", "ids")), strict=True))
    leaves: int = attributes["nodes_modes"].count("LEAF")
    return len(weighed) == 2 * leaves


def _regressor(attributes: Mapping[str, Any]) -> tuple[Weights, float, bool] | None:
    link, total = attributes.get("post_transform", "NONE"), attributes.get("aggregate_function", "SUM")
    if link not in ("LOGISTIC", "NONE") or total not in ("SUM", "AVERAGE") or attributes.get("n_targets", 1) != 1:
        return None
    count = len(np.unique(attributes["nodes_treeids"])) if total == "AVERAGE" else 1
    base = float(attributes.get("base_values", np.zeros(0)).sum())
    return _by_leaf(attributes, "target", attributes["target_weights"] / count), base, link == "LOGISTIC"


def _by_leaf(attributes: Mapping[str, Any], kind: str, weights: Floats) -> Weights:
    totals: dict[tuple[int, int], float] = {}
    trees, nodes = attributes[f"{kind}_treeids"].tolist(), attributes[f"{kind}_nodeids"].tolist()
    for tree, node, weight in zip(trees, nodes, weights.tolist(), strict=True):
        totals[tree, node] = totals.get((tree, node), 0.0) + weight
    return totals


def _trees(attributes: Mapping[str, Any], weights: Weights) -> list[Tree]:
    tree_ids = attributes["nodes_treeids"]
    return [_tree(attributes, np.flatnonzero(tree_ids == tree), int(tree), weights) for tree in np.unique(tree_ids)]


def _tree(attributes: Mapping[str, Any], rows: NDArray[np.intp], tree: int, weights: Weights) -> Tree:
    """One tree, its nodes renumbered so that every child comes after its parent."""
    ids = attributes["nodes_nodeids"][rows].tolist()
    row_of = dict(zip(ids, rows.tolist(), strict=True))
    modes, thens, elses = (attributes[f"nodes_{name}"] for name in ("modes", "truenodeids", "falsenodeids"))
    order: list[int] = []
    new: dict[int, int] = {}
    waiting = [ids[0]]
    while waiting:
        node = waiting.pop()
        if node in new or node not in row_of:
            raise ValueError(f"tree {tree} of its ensemble is not a tree: see node {node}")
        new[node] = len(order)
        order.append(row_of[node])
        if modes[row_of[node]] != "LEAF":
            waiting += [int(elses[row_of[node]]), int(thens[row_of[node]])]
    return _arranged(attributes, np.array(order), new, tree, weights)


def _arranged(
    attributes: Mapping[str, Any], order: NDArray[np.intp], new: Mapping[int, int], tree: int, weights: Weights
) -> Tree:
    modes = np.array(attributes["nodes_modes"])[order]
    leaf, turned = modes == "LEAF", np.isin(modes, ("BRANCH_GTE", "BRANCH_GT"))
    thens, elses = (
        np.array([new.get(int(node), 0) for node in attributes[f"nodes_{name}nodeids"][order]])
        for name in ("true", "false")
    )
    threshold = attributes["nodes_values"][order].astype(np.float32)
    # x < t is x <= the next number below t, and x >= t its contrary.
    strict = np.isin(modes, ("BRANCH_LT", "BRANCH_GTE"))
    threshold[strict] = np.nextafter(threshold[strict], np.float32(-np.inf))
    value = np.array([weights.get((tree, int(node)), 0.0) for node in attributes["nodes_nodeids"][order]])
    return Tree(
        np.where(leaf, LEAF, attributes["nodes_featureids"][order]),
        np.where(turned, elses, thens),
        np.where(turned, thens, elses),
        threshold,
        np.where(leaf, value, 0.0),
    )
