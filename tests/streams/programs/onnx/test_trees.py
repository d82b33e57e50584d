"""Tree ensembles of ONNX files score as the libraries that exported them do."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier

from onward.streams.programs.onnx.check import parse_onnx
from onward.streams.programs.onnx.outputs import desired_class, with_one_output
from onward.streams.programs.onnx.trees import flattened

BOOSTERS = Path(__file__).parent / "boosters"
RNG = np.random.default_rng(3)
X = RNG.random((200, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 1).astype(int)


def trees_of(content, columns=4):
    model = parse_onnx(content)
    column, _ = desired_class(model, 1)
    with_one_output(model)
    return flattened(model, column, columns)


@pytest.mark.parametrize("name", ["catboost", "lightgbm", "xgboost"])
def test_a_booster_scores_as_its_own_library_does(name):
    expected = np.load(BOOSTERS / f"{name}.npz")
    scores = trees_of((BOOSTERS / f"{name}.onnx").read_bytes()).score(expected["rows"])
    np.testing.assert_allclose(scores, expected["probabilities"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("build", [ExtraTreesClassifier, GradientBoostingClassifier])
def test_an_ensemble_of_scikit_learn_scores_as_it_does(build, zipmap):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build(n_estimators=10, random_state=0).fit(X, Y)
        content = to_onnx(model, X[:1], options={"zipmap": zipmap}).SerializeToString()
    np.testing.assert_allclose(trees_of(content).score(X), model.predict_proba(X)[:, 1], rtol=0, atol=1e-6)


def stumps(mode="BRANCH_LEQ", kind="Classifier", **changes):
    """Two trees: a stump on column 0, and one on column 1 whose children stand before it."""
    attributes = {
        "nodes_treeids": [0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 0, 1, 2],
        "nodes_featureids": [0, 0, 0, 1, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0, 0.25, 0.0, 0.0],
        "nodes_modes": [mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0, 2, 0, 0],
        "nodes_falsenodeids": [2, 0, 0, 1, 0, 0],
    }
    leaves = {"treeids": [0, 0, 1, 1], "nodeids": [1, 2, 1, 2], "ids": [0, 0, 0, 0], "weights": [0.1, -0.4, 0.3, 0.6]}
    prefix = "class" if kind == "Classifier" else "target"
    attributes |= {f"{prefix}_{name}": values for name, values in leaves.items()}
    attributes |= {"classlabels_int64s": [0, 1]} if kind == "Classifier" else {"n_targets": 1}
    outputs = ["label", "p"] if kind == "Classifier" else ["p"]
    node = helper.make_node(f"TreeEnsemble{kind}", ["x"], outputs, domain="ai.onnx.ml", **(attributes | changes))
    made = helper.make_tensor_value_info("p", TensorProto.FLOAT, None)
    taken = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])
    versions = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(helper.make_graph([node], "stumps", [taken], [made]), opset_imports=versions)
    model.ir_version = 8
    return model.SerializeToString()


BOTH = {
    "class_treeids": [0, 0, 0, 0, 1, 1, 1, 1],
    "class_nodeids": [1, 1, 2, 2, 1, 1, 2, 2],
    "class_ids": [0, 1] * 4,
    "class_weights": [0.1, -0.4, 0.3, 0.6, -0.2, 0.7, 0.4, 0.2],
}
ON_EDGES = np.array([[first, second, 0, 0] for first in (0.4, 0.5, 0.6) for second in (0.2, 0.25, 0.3)], np.float32)


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize(
    "content",
    [
        *(stumps(mode, post_transform="LOGISTIC") for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")),
        stumps(class_weights=[0.1, 0.4, 0.3, 0.6]),
        stumps(post_transform="LOGISTIC", base_values=[-0.7]),
        stumps(post_transform="SOFTMAX", **BOTH),
        stumps(post_transform="LOGISTIC", **BOTH),
    ],
)
def test_every_comparison_and_link_is_that_of_onnxruntime(content, column):
    model = parse_onnx(content)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (expected,) = session.run(["p"], {"x": ON_EDGES})
    scores = flattened(model, column, 4).score(ON_EDGES)
    np.testing.assert_allclose(scores, expected[:, column], rtol=0, atol=1e-6)


@pytest.mark.parametrize("total", ["SUM", "AVERAGE"])
def test_a_regressor_of_probabilities_is_flattened_too(total):
    content = stumps(kind="Regressor", aggregate_function=total, target_weights=[0.1, 0.4, 0.3, 0.5])
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (expected,) = session.run(["p"], {"x": ON_EDGES})
    np.testing.assert_allclose(trees_of(content).score(ON_EDGES), expected[:, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "content",
    [
        stumps("BRANCH_EQ"),
        stumps(base_values=[0.2, -0.1], **BOTH),
        stumps(class_ids=[0, 1, 1, 0]),
        stumps(post_transform="PROBIT"),
        stumps(post_transform="SOFTMAX"),
    ],
)
def test_what_has_no_such_form_is_left_to_onnxruntime(content):
    assert trees_of(content) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"nodes_truenodeids": [0, 0, 0, 2, 0, 0]}, "tree 0 of its ensemble is not a tree: see node 0"),
        ({"nodes_truenodeids": [7, 0, 0, 2, 0, 0]}, "tree 0 of its ensemble is not a tree: see node 7"),
        ({"nodes_featureids": [0, 0, 0, 9, 0, 0]}, "ask for column 9, the spec has 4"),
        ({"nodes_featureids": [0, 0, 0, -2, 0, 0]}, "operator TreeEnsembleClassifier asks for column -2"),
        ({"nodes_featureids": [0, 0, 0, 1 << 32, 0, 0]}, "are out of range"),
        ({"nodes_modes": ["BRANCH_LT"]}, "the attributes of its TreeEnsembleClassifier do not fit together"),
    ],
)
def test_an_ensemble_that_is_not_made_of_trees_is_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        trees_of(stumps(post_transform="LOGISTIC", **changes))
