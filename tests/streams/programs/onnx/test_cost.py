"""What a model in ONNX takes for a row depends on nothing that a person writes, and has a limit."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.svm import SVC

from onward.streams.programs.onnx.check import parse_onnx
from onward.streams.programs.onnx.cost import LARGEST_BYTES, LARGEST_OPERATIONS, cost_of
from onward.streams.programs.onnx.model import load_onnx
from onward.streams.programs.onnx.outputs import with_one_output
from onward.streams.programs.onnx.score import OnnxScore
from onward.streams.programs.onnx.shapes import inferred_shapes
from onward.tests.support.model_bombs import WAITING, products_bomb, waits_for_one

BOOSTERS = Path(__file__).parent / "boosters"
ROWS = 32
READING = OnnxScore(column=1, rows=ROWS)
RNG = np.random.default_rng(0)


@pytest.mark.attack
@pytest.mark.parametrize("operator", WAITING)
def test_a_graph_whose_shapes_depend_on_what_somebody_writes_is_refused(operator):
    """Ordinary rows show nothing: one number in one application takes gigabytes."""
    content = waits_for_one(operator)
    assert len(content) < 1000
    with pytest.raises(ValueError, match=r"which operator .* makes, is not known before a row is scored"):
        load_onnx(content, READING, 4, None)


@pytest.mark.attack
def test_a_graph_of_products_without_end_is_refused():
    content = products_bomb(50)
    assert len(content) < 2500
    most = LARGEST_OPERATIONS * ROWS
    with pytest.raises(ValueError, match=rf"scoring 32 rows takes up to \d+ operations, the limit is {most}"):
        load_onnx(content, READING, 4, None)
    alone = OnnxScore(column=1, rows=1)
    with pytest.raises(ValueError, match=rf"scoring 1 rows takes .* the limit is {LARGEST_OPERATIONS}"):
        load_onnx(content, alone, 4, None)
    # A row may come alone, and a batch is filled up: its size allows no more.
    with pytest.raises(ValueError, match=rf"scoring 1024 rows takes .* the limit is {most}"):
        load_onnx(products_bomb(1, width=500), OnnxScore(column=1, rows=1024), 4, None)
    assert load_onnx(products_bomb(1, width=500), READING, 4, None).score(np.zeros((1, 4))) == pytest.approx([0.0])


def classifier(nodes, outputs=(("y", TensorProto.FLOAT),), **constants):
    """A graph over x (n, 4)."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])]
    infos = [helper.make_tensor_value_info(*output, None) for output in outputs]
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, infos, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


def widened(count):
    """The largest of a row's numbers, each repeated."""
    nodes = [
        helper.make_node("Tile", ["x", "repeats"], ["wide"]),
        helper.make_node("ReduceMax", ["wide", "axes"], ["y"], keepdims=0),
    ]
    return classifier(nodes, repeats=np.array([1, count]), axes=np.array([1]))


def doubled(times):
    """Texts that are twice as long each time."""
    nodes = [helper.make_node("Cast", ["x"], ["t0"], to=TensorProto.STRING)]
    nodes += [helper.make_node("StringConcat", [f"t{index}"] * 2, [f"t{index + 1}"]) for index in range(times)]
    nodes += [
        helper.make_node("Equal", [f"t{times}", "t0"], ["same"]),
        helper.make_node("Cast", ["same"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["numbers", "axes"], ["y"], keepdims=0),
    ]
    return classifier(nodes, axes=np.array([1]))


def looked_up(length, count):
    """Long texts, each row's as often as there are numbers."""
    nodes = [
        helper.make_node("Gather", ["table", "places"], ["texts"]),
        helper.make_node("Equal", ["texts", "table"], ["same"]),
        helper.make_node("Cast", ["same"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["numbers"], ["m"], keepdims=0),
        helper.make_node("ReduceMax", ["x", "axes"], ["r"], keepdims=0),
        helper.make_node("Add", ["m", "r"], ["y"]),
    ]
    places, table = np.zeros(count, np.int64), np.array(["a" * length], dtype=object)
    return classifier(nodes, places=places, table=table, axes=np.array([1]))


@pytest.mark.attack
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (widened(1_000_000), rf"takes up to \d+ bytes of memory, the limit is {LARGEST_BYTES}"),
        (doubled(30), "operator StringConcat makes texts of any length"),
        (looked_up(1 << 20, 10_000), "bytes of memory, the limit is"),
    ],
)
def test_a_graph_that_takes_much_for_every_row_is_refused(content, says):
    with pytest.raises(ValueError, match=says):
        load_onnx(content, READING, 4, None)


def test_shapes_that_a_file_only_claims_do_not_count():
    model = onnx.ModelProto.FromString(waits_for_one("Expand"))
    model.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [1]))
    with pytest.raises(ValueError, match="the shape of b, which operator Expand makes, is not known"):
        load_onnx(model.SerializeToString(), READING, 4, None)


TYPES = [
    ("income", FloatTensorType([None, 1])),
    ("debts", Int64TensorType([None, 1])),
    ("region", StringTensorType([None, 1])),
]
PEOPLE = [[float(RNG.integers(9, 99)), int(RNG.integers(9)), ("north", "south")[index % 2]] for index in range(120)]
GOOD = [int(person[0] > 50) for person in PEOPLE]
ENCODERS = {
    "scaled": [("numbers", MinMaxScaler(), [0, 1]), ("texts", OneHotEncoder(), [2])],
    "filled": [("numbers", make_pipeline(SimpleImputer(), PCA(1)), [0, 1]), ("texts", OrdinalEncoder(), [2])],
    "raised": [("numbers", PolynomialFeatures(2), [0, 1]), ("bins", KBinsDiscretizer(3, encode="ordinal"), [0])],
}
KINDS = {
    "logistic": LogisticRegression(),
    "neighbours": KNeighborsClassifier(),
    "support vectors": SVC(probability=True),
    "forest": RandomForestClassifier(5),
    "perceptron": MLPClassifier((5,), max_iter=20),
    "bayes": GaussianNB(),
    "adaptive": AdaBoostClassifier(n_estimators=3),
    "calibrated": CalibratedClassifierCV(LogisticRegression()),
    "stacked": StackingClassifier([("a", LogisticRegression()), ("b", RandomForestClassifier(2))]),
    "bagged": BaggingClassifier(n_estimators=2),
}


def exported(encoder, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people = np.array(PEOPLE, dtype=object)
        pipeline = make_pipeline(ColumnTransformer(ENCODERS[encoder]), KINDS[kind]).fit(people, GOOD)
        return to_onnx(pipeline, initial_types=TYPES, options={"zipmap": False}).SerializeToString()


@pytest.mark.parametrize(
    ("encoder", "kind"), [*(("scaled", kind) for kind in KINDS), ("filled", "logistic"), ("raised", "logistic")]
)
def test_the_shapes_of_a_pipeline_are_those_that_onnxruntime_makes(encoder, kind):
    model = parse_onnx(exported(encoder, kind))
    feeds = {name: np.full((ROWS, 1), value, dtype) for name, value, dtype in FEEDS}
    assert cost_of(model, dict.fromkeys(feeds, (ROWS, 1)), ["north"]).bytes < 1 << 20
    assert_as_computed(model, feeds)


FEEDS = [("income", 40.0, np.float32), ("debts", 3, np.int64), ("region", "north", object)]


@pytest.mark.parametrize("name", ["catboost", "lightgbm", "xgboost"])
def test_the_shapes_of_a_booster_are_those_that_onnxruntime_makes(name):
    model = parse_onnx((BOOSTERS / f"{name}.onnx").read_bytes())
    with_one_output(model)
    [entry] = [entry.name for entry in model.graph.input]
    assert_as_computed(model, {entry: np.zeros((ROWS, 4), np.float32)})


def assert_as_computed(model, feeds):
    """Compare every tensor with what onnxruntime computes."""
    values = inferred_shapes(model, {name: array.shape for name, array in feeds.items()})
    names = [name for node in model.graph.node for name in node.output if name]
    del model.graph.output[:]
    model.graph.output.extend(helper.make_tensor_value_info(name, values[name].element_type, None) for name in names)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    computed = session.run(names, feeds)
    assert {name: np.shape(array) for name, array in zip(names, computed, strict=True)} == {
        name: values[name].shape for name in names
    }


def circle(operator: str) -> onnx.ModelProto:
    """Trees of which the second leads back to its root for one row, and the first hides it from onnxruntime."""
    if operator == "TreeEnsemble":
        attributes = {
            "n_targets": 1,
            "tree_roots": [0, 1],
            "nodes_featureids": [0, 0, 0],
            "nodes_splits": numpy_helper.from_array(np.full(3, -1e4, np.float32)),
            "nodes_modes": numpy_helper.from_array(np.zeros(3, np.uint8)),
            "nodes_truenodeids": [0, 2, 1],
            "nodes_falsenodeids": [0, 0, 0],
            "nodes_trueleafs": [1, 0, 0],
            "nodes_falseleafs": [1, 1, 1],
            "leaf_targetids": [0],
            "leaf_weights": numpy_helper.from_array(np.ones(1, np.float32)),
        }
    else:
        attributes = {
            "n_targets": 1,
            "nodes_treeids": [0, 1, 1, 1, 1],
            "nodes_nodeids": [0, 0, 1, 2, 3],
            "nodes_featureids": [0] * 5,
            "nodes_values": [0.0, -1e4, -1e4, 0.0, 0.0],
            "nodes_modes": ["LEAF", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF"],
            "nodes_truenodeids": [0, 1, 0, 0, 0],
            "nodes_falsenodeids": [0, 2, 3, 0, 0],
            "target_treeids": [0, 1, 1],
            "target_nodeids": [0, 2, 3],
            "target_ids": [0] * 3,
            "target_weights": [1.0] * 3,
        }
    node = helper.make_node(operator, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])
    version = 5 if operator == "TreeEnsemble" else 3
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph([node], "g", [given], [made]), opset_imports=opsets, ir_version=8)


@pytest.mark.attack
@pytest.mark.parametrize("operator", ["TreeEnsembleRegressor", "TreeEnsemble"])
def test_trees_in_which_a_row_goes_round_for_ever_are_refused(operator):
    model = parse_onnx(circle(operator).SerializeToString())
    with pytest.raises(ValueError, match="leads back to where it came from"):
        cost_of(model, {"x": (ROWS, 2)}, [])
