"""The columns of a model over one matrix: what they may be, and that its splits decide as its sender's do."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Feature, Label, ModelReference, Policy, ProgramSpec, Window
from onward.streams.programs.onnx.check import parse_onnx
from onward.streams.programs.onnx.inputs import matrix_layouts
from onward.streams.programs.onnx.matrix import Layout, layouts_of, splits_of
from onward.streams.programs.onnx.model import OnnxModel
from onward.streams.programs.onnx.outputs import with_one_output
from onward.streams.programs.onnx.score import MatrixColumns, OnnxScore
from onward.streams.programs.onnx.trees import flattened

AMOUNT = Feature(name="amount", type="continuous", bounds=(-3.0, 40000.0))
COUNT = Feature(name="count", type="integer", bounds=(0, 70_000_000))
GRADE = Feature(name="grade", type="ordinal", levels=("low", "middle", "high"))
BAND = Feature(name="band", type="ordinal", levels=("1", "2.5", "10"))
FLAG = Feature(name="flag", type="integer", bounds=(0, 1))
REGION = Feature(name="region", type="categorical", categories=("north", "south"))
CODE = Feature(name="code", type="categorical", categories=("1", "7", "4"))


def codec_of(*features: Feature, may_read=None) -> FeatureCodec:
    return FeatureCodec(
        ProgramSpec(
            program="p",
            features=features,
            label=Label(name="y"),
            model=ModelReference(manifest="m", may_read=may_read),
            policy=Policy(generator="search", choice="protoar", window=Window(steps=10)),
        )
    )


def stumps(columns: list[int], thresholds: list[float], width: int, mode: str, dtype=TensorProto.FLOAT) -> bytes:
    """A tree of one split for each, which adds 1, 2, 4, ... parts of the score."""
    count = len(columns)
    trees = np.repeat(np.arange(count), 3).tolist()
    weights = [2.0**place / 2.0**count for place in range(count)]
    attributes = {
        "nodes_treeids": trees,
        "nodes_nodeids": [0, 1, 2] * count,
        "nodes_featureids": [part for column in columns for part in (column, 0, 0)],
        "nodes_values": [part for threshold in thresholds for part in (threshold, 0.0, 0.0)],
        "nodes_modes": [mode, "LEAF", "LEAF"] * count,
        "nodes_truenodeids": [1, 0, 0] * count,
        "nodes_falsenodeids": [2, 0, 0] * count,
        "target_treeids": np.repeat(np.arange(count), 2).tolist(),
        "target_nodeids": [1, 2] * count,
        "target_ids": [0, 0] * count,
        "target_weights": [part for weight in weights for part in (weight, 0.0)],
        "n_targets": 1,
    }
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["p"], domain="ai.onnx.ml", **attributes)
    made = helper.make_tensor_value_info("p", TensorProto.FLOAT, None)
    taken = helper.make_tensor_value_info("x", dtype, [None, width])
    versions = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(helper.make_graph([node], "stumps", [taken], [made]), opset_imports=versions)
    model.ir_version = 8
    return model.SerializeToString()


CODEC = codec_of(AMOUNT, COUNT, GRADE, BAND, REGION)
RAW = MatrixColumns(("amount", "count", "grade", "band", "region:north", "region:south"), True)
SPLITS = [
    *((0, split) for split in (0.1, 0.32, -2.75, 12345.678, 33_000.005)),
    *((1, split) for split in (2.5, 3.0, 16_777_216.0, 20_000_001.0, 66_000_004.0)),
    *((2, split) for split in (0.5, 1.0)),
    *((3, split) for split in (1.5, 2.5)),
    *((4, split) for split in (0.5, 1.0)),
]


def near(split: float) -> list[float]:
    """Values at a split, and next to it in float32 and float64, and half way between."""
    at = np.float32(split)
    values = [float(at)]
    for direction in (-np.inf, np.inf):
        beside = float(np.nextafter(at, np.float32(direction)))
        values += [beside, (float(at) + beside) / 2.0, float(np.nextafter(float(at), direction)), split]
    return values


@settings(max_examples=60, deadline=None)
@given(
    mode=st.sampled_from(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]),
    double=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_flattened_trees_decide_raw_values_as_the_senders_runtime_does(mode, double, seed):
    random = np.random.default_rng(seed)
    dtype = TensorProto.DOUBLE if double else TensorProto.FLOAT
    content = stumps([column for column, _ in SPLITS], [split for _, split in SPLITS], 6, mode, dtype)
    amounts = [value for column, split in SPLITS if column == 0 for value in near(split)]
    counts = [
        round(value) + more for column, split in SPLITS if column == 1 for value in near(split) for more in (0, 1)
    ]
    people = [
        {
            # Onward reads amounts to twelve digits; between two float32 there are many of these.
            "amount": round(float(random.choice(amounts)), 7),
            "count": int(random.choice(counts)),
            "grade": str(random.choice(GRADE.levels)),
            "band": str(random.choice(BAND.levels)),
            "region": str(random.choice(REGION.categories)),
        }
        for _ in range(60)
    ]
    X = CODEC.encode_many(people)
    matrix = np.array(
        [
            [
                person["amount"],
                person["count"],
                GRADE.levels.index(person["grade"]),
                float(person["band"]),
                person["region"] == "north",
                person["region"] == "south",
            ]
            for person in people
        ],
        dtype=np.float64 if double else np.float32,
    )
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (expected,) = session.run(["p"], {"x": matrix})
    model = parse_onnx(content)
    trees = flattened(model, 1, CODEC.dimension, Layout(RAW, CODEC))
    assert (trees is None) == double
    if trees is not None:
        np.testing.assert_allclose(trees.score(X), expected[:, 0], rtol=0, atol=1e-6)
    served = OnnxModel(model, OnnxScore(column=1, rows=32, matrix=RAW), CODEC.dimension, CODEC)
    np.testing.assert_allclose(served.score(X), expected[:, 0], rtol=0, atol=0)


def test_trees_that_split_categories_by_their_order_stay_with_onnxruntime():
    codec = codec_of(AMOUNT, CODE)
    raw = MatrixColumns(("amount", "code"), True)
    model = parse_onnx(stumps([0, 1], [5.0, 4.0], 2, "BRANCH_LEQ"))
    assert flattened(model, 1, codec.dimension, Layout(raw, codec)) is None
    served = OnnxModel(model, OnnxScore(column=1, rows=32, matrix=raw), codec.dimension, codec)
    people = [{"amount": 9.0, "code": code} for code in CODE.categories]
    assert served.score(codec.encode_many(people)).tolist() == [0.5, 0.0, 0.5]
    assert served.features == {"amount", "code"}


@pytest.mark.parametrize(
    ("features", "names"),
    [
        ([AMOUNT, COUNT], [("encoded", "amount count"), ("raw", "amount count")]),
        ([FLAG], [("encoded", "flag")]),
        (
            [AMOUNT, REGION],
            [("encoded", "amount region:north region:south"), ("raw", "amount region:north region:south")],
        ),
        (
            [REGION, FLAG],
            [("encoded", "region:north region:south flag"), ("raw", "flag region:north region:south")],
        ),
        (
            [AMOUNT, CODE],
            [
                ("encoded", "amount code:1 code:7 code:4"),
                ("raw", "amount code:1 code:7 code:4"),
                ("raw", "amount code:1 code:4 code:7"),
                ("raw", "amount code"),
            ],
        ),
        (
            [AMOUNT, Feature(name="sex", type="integer", bounds=(0, 1), protected=True)],
            [("encoded", "amount sex"), ("raw", "amount sex"), ("encoded", "amount"), ("raw", "amount")],
        ),
    ],
)
def test_a_matrix_holds_encoded_columns_or_raw_ones_of_features_or_categories(features, names):
    layouts = [each.matrix for each in layouts_of(codec_of(*features))]
    assert [("raw" if each.raw else "encoded", " ".join(each.names)) for each in layouts] == names


@pytest.mark.parametrize(
    ("splits", "possible"),
    [
        ([(0, 1234.5), (1, 0.5)], ["raw"]),
        ([(0, 0.4), (1, 0.5)], ["raw", "encoded"]),
        ([(0, 0.4), (1, 2.0)], ["raw"]),
        ([(0, -200.0), (1, 2.0)], []),
        ([(1, 80_000_000.0)], []),
    ],
)
def test_splits_disprove_columns(splits, possible):
    codec = codec_of(AMOUNT, COUNT)
    columns, thresholds = zip(*splits, strict=True)
    model = parse_onnx(stumps(list(columns), list(thresholds), 2, "BRANCH_LEQ"))
    with_one_output(model)
    found = splits_of(model, 2)
    left = [layout for layout in matrix_layouts(model, codec) if layout.disproof(found) is None]
    assert sorted("raw" if layout.matrix.raw else "encoded" for layout in left) == sorted(possible)
