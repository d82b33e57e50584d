"""Model bundles that are small and take gigabytes or minutes to load.

onnx_bomb(450_000_000)       # 248 bytes, 1.8 GB at every score
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
from onnx import TensorProto, helper

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
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, columns])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
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
