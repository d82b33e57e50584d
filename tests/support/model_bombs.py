"""Model bundles that are small and take gigabytes or minutes to load.

onnx_bomb(450_000_000)       # 248 bytes, 1.8 GB at every score
waits_for_one("Expand")      # about 600 bytes, gigabytes at the score of one row in thousands
products_bomb(50)            # 2 kB, seconds at every score
trees_bomb(1 << 30)          # 4.7 MB
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from onward.agents.trees import LAYOUT

_PIECE = bytes(1 << 20)


def onnx_bomb(numbers: int, columns: int) -> bytes:
    """A classifier whose score is the mean of the columns, plus the largest of so many zeros for every row."""
    nodes = [
        # What does not depend on the row would be computed once.
        helper.make_node("Shape", ["x"], ["d"]),
        helper.make_node("Constant", [], ["n"], value_ints=[numbers // columns, 1]),
        helper.make_node("Mul", ["d", "n"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["b"]),
        helper.make_node("ReduceMax", ["b"], ["m"], keepdims=0),
        helper.make_node("ReduceMean", ["x"], ["r"], axes=[1]),
        helper.make_node("Add", ["r", "m"], ["y"]),
    ]
    return _classifier(nodes, columns, {})


WAITING: Mapping[str, list[NodeProto]] = {
    "Compress": [
        helper.make_node("Expand", ["one", "n"], ["many"]),
        helper.make_node("Cast", ["many"], ["chosen"], to=TensorProto.BOOL),
        helper.make_node("Compress", ["many", "chosen"], ["b"]),
    ],
    "ConstantOfShape": [helper.make_node("ConstantOfShape", ["n"], ["b"])],
    "Expand": [helper.make_node("Expand", ["one", "n"], ["b"])],
    "NonZero": [
        helper.make_node("Greater", ["one", "x"], ["which"]),
        helper.make_node("NonZero", ["which"], ["places"]),
        helper.make_node("Cast", ["places"], ["b"], to=TensorProto.FLOAT),
    ],
    "OneHot": [
        helper.make_node("Constant", [], ["ends"], value_floats=[0.0, 1.0]),
        helper.make_node("OneHot", ["zero", "n", "ends"], ["b"]),
    ],
    "Pad": [
        helper.make_node("Concat", ["zero", "n"], ["pads"], axis=0),
        helper.make_node("Pad", ["one", "pads"], ["b"]),
    ],
    "Range": [
        helper.make_node("Squeeze", ["n"], ["end"]),
        helper.make_node("Squeeze", ["zero"], ["start"]),
        helper.make_node("Constant", [], ["by"], value_int=1),
        helper.make_node("Range", ["start", "end", "by"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["b"], to=TensorProto.FLOAT),
    ],
    "Resize": [helper.make_node("Resize", ["one", "", "", "n"], ["b"])],
    "Tile": [helper.make_node("Tile", ["one", "n"], ["b"])],
}
"""How a tensor b gets as many numbers as the first column of a row says, by the operator that makes it."""


def waits_for_one(operator: str, columns: int = 4) -> bytes:
    """A classifier that takes 4 bytes a billion times for a row whose first column is 1, and nothing below .9995."""
    constants = {
        "first": np.array([1.0, *[0.0] * (columns - 1)], np.float32),
        "edge": np.array(0.9995, np.float32),
        "huge": np.array(2e12, np.float32),
        "one": np.ones(1, np.float32),
        "zero": np.zeros(1, np.int64),
        "whole_one": np.ones(1, np.int64),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["v"]),
        helper.make_node("Sub", ["v", "edge"], ["above"]),
        helper.make_node("Relu", ["above"], ["more"]),
        helper.make_node("ReduceMax", ["more"], ["most"], axes=[0], keepdims=1),
        helper.make_node("Mul", ["most", "huge"], ["number"]),
        helper.make_node("Cast", ["number"], ["count"], to=TensorProto.INT64),
        helper.make_node("Add", ["count", "whole_one"], ["n"]),
        *WAITING[operator],
        helper.make_node("ReduceMax", ["b"], ["m"], keepdims=0),
        helper.make_node("Mul", ["m", "edge"], ["unused"]),
        helper.make_node("ReduceMean", ["x"], ["r"], axes=[1]),
        helper.make_node("Add", ["r", "unused"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["y"]),
    ]
    return _classifier(nodes, columns, constants)


def products_bomb(count: int, width: int = 2000, columns: int = 4) -> bytes:
    """A classifier whose score takes so many products with a matrix of width times width ones."""
    nodes = [
        helper.make_node("Constant", [], ["s0"], value_ints=[columns, width]),
        helper.make_node("Constant", [], ["s"], value_ints=[width, width]),
        helper.make_node("ConstantOfShape", ["s0"], ["w0"]),
        helper.make_node("ConstantOfShape", ["s"], ["w"]),
        helper.make_node("MatMul", ["x", "w0"], ["h0"]),
        *(helper.make_node("MatMul", [f"h{index}", "w"], [f"h{index + 1}"]) for index in range(count)),
        helper.make_node("ReduceMax", [f"h{count}"], ["m"], axes=[1]),
        helper.make_node("ReduceMean", ["x"], ["r"], axes=[1]),
        helper.make_node("Add", ["r", "m"], ["y"]),
    ]
    return _classifier(nodes, columns, {})


def _classifier(nodes: list[NodeProto], columns: int, constants: Mapping[str, Any]) -> bytes:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, columns])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="")
    return bytes(model.SerializeToString())


def trees_bomb(size: int) -> bytes:
    """A file of trees whose roots are this many bytes of zeros."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (dimensions, types) in LAYOUT.items():
            shape = (size // 8,) if name == "roots" else (1, 3)[:dimensions]
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                described = {"descr": np.dtype(types[0]).str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(entry, described)
                left = math.prod(shape) * np.dtype(types[0]).itemsize
                for _ in range(left // len(_PIECE)):
                    entry.write(_PIECE)
                entry.write(_PIECE[: left % len(_PIECE)])
    return file.getvalue()


def bomb_bundle(good: Path, folder: Path, name: str, content: bytes, **changes: Any) -> tuple[str, str]:
    """A copy of a bundle with another model file; return the address of its manifest, and its hash."""
    shutil.copytree(good, folder)
    (folder / name).write_bytes(content)
    manifest: Mapping[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    entry = {"file": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    written = json.dumps({**manifest, "model": entry, **changes}).encode()
    (folder / "manifest.json").write_bytes(written)
    return str(folder / "manifest.json"), hashlib.sha256(written).hexdigest()
