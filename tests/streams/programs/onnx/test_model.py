"""ONNX models as workers use them."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from onward.streams.programs.bundle.manifest import OnnxScore  # noqa: E402
from onward.streams.programs.models.scoring import score_of_options  # noqa: E402
from onward.streams.programs.onnx.model import load_onnx  # noqa: E402


def looks_up_its_score() -> bytes:
    """The score .7 for rows whose first column is below 1; others are outside its table."""
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["v"]),
        helper.make_node("Cast", ["v"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "whole"], ["p"]),
    ]
    constants = {"first": np.array([1.0, 0.0], np.float32), "table": np.array([0.7], np.float32)}
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, [None])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def test_a_row_that_the_model_cannot_score_has_no_score_and_the_rows_beside_it_keep_theirs():
    model = load_onnx(looks_up_its_score(), OnnxScore(column=1, rows=32), 2, None)
    rows = np.array([[0.1, 0.5], [1.0, 0.5], [0.9, 0.5]])
    assert model.score(rows) == pytest.approx([0.7, np.nan, 0.7], nan_ok=True)
    assert np.isnan(model.score(rows[1:2])).all()
    assert score_of_options(model.score)(rows) == pytest.approx([0.7, 0.0, 0.7])
