"""The shapes of everything that a graph of ONNX computes, before it computes anything.

A batch has a known number of rows. Whatever shape is not a number then depends on what people write into an
application: such a graph is refused, since one row could take any memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import one_line

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

ML = "ai.onnx.ml"
LARGEST_WIDTH = 1_000_000
"""Columns that an operator of ``ai.onnx.ml`` may say that it makes."""
_CORE_VERSION = 21
_CONSTANTS_ARE_NO_INPUTS = 4
"""The version of ONNX's files from which constants need not be inputs too."""

Shape = tuple[int, ...]


class Value(NamedTuple):
    """The shape of a tensor and the type of its elements, by ONNX's number."""

    shape: Shape
    element_type: int

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)


def inferred_shapes(model: ModelProto, inputs: Mapping[str, Shape]) -> dict[str, Value]:
    """Every tensor of a graph by its name, for ``inputs`` of these shapes.

    Raises ValueError, which names the operator, where a shape depends on the values of the inputs, and where ONNX does
    not know it.
    """
    import onnx

    outline = _outline(model, inputs)
    try:
        inferred = onnx.shape_inference.infer_shapes(outline, strict_mode=True, data_prop=True)
    except Exception as error:  # it has several kinds of errors of its own
        raise ValueError(f"its shapes do not fit together: {one_line(error)}") from None
    values: dict[str, Value] = {}
    for graph in graphs_of(inferred.graph):
        for name, value in _values(graph):
            if values.setdefault(name, value) != value:
                raise ValueError(f"it gives two tensors the name {name}: export it with a name for each")
    for graph in graphs_of(model.graph):
        for node in graph.node:
            if node.op_type == "ArrayFeatureExtractor" and len(values[node.input[0]].shape) > 2:
                raise ValueError("operator ArrayFeatureExtractor reads a tensor that is no matrix")
            for name in node.output:
                if name and name not in values:
                    raise ValueError(
                        f"the shape of {name}, which operator {node.op_type} makes, is not known before a row is "
                        "scored: export it with shapes that depend on the number of rows alone"
                    )
    return values


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and those inside its nodes."""
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from graphs_of(inner)


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs that a node holds itself."""
    for attribute in node.attribute:
        yield from (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs)


def _values(graph: GraphProto) -> Iterator[tuple[str, Value]]:
    """The tensors of a graph whose shapes are numbers."""
    for tensor in graph.initializer:
        yield tensor.name, Value(tuple(tensor.dims), tensor.data_type)
    constants = {tensor.name for tensor in graph.initializer}
    for entry in (*graph.input, *graph.value_info, *graph.output):
        kind = entry.type.tensor_type
        known = entry.type.HasField("tensor_type") and kind.HasField("shape") and entry.name not in constants
        if known and all(size.HasField("dim_value") for size in kind.shape.dim):
            yield entry.name, Value(tuple(size.dim_value for size in kind.shape.dim), kind.elem_type)


def _outline(model: ModelProto, inputs: Mapping[str, Shape]) -> ModelProto:
    """A model of the same shapes, with inputs of known ones, and nothing that only claims to be so."""
    outline = type(model)()
    outline.CopyFrom(model)
    outline.ir_version = max(outline.ir_version, _CONSTANTS_ARE_NO_INPUTS)
    del outline.graph.input[:]
    outline.graph.input.extend(entry for entry in model.graph.input if entry.name in inputs)
    if not any(entry.domain in ("", "ai.onnx") for entry in outline.opset_import):
        outline.opset_import.add(domain="", version=_CORE_VERSION)
    for graph in graphs_of(outline.graph):
        del graph.value_info[:]
        for entry in graph.output:
            entry.type.tensor_type.ClearField("shape")
        for tensor in graph.initializer:
            _without_numbers(tensor)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    _without_numbers(attribute.t)
    for graph in list(graphs_of(outline.graph)):
        nodes = [other for node in graph.node for other in _stand_in(node, graph)]
        del graph.node[:]
        graph.node.extend(nodes)
    for entry in outline.graph.input:
        _set_shape(entry, inputs[entry.name])
    return outline


def _set_shape(entry: ValueInfoProto, shape: Shape) -> None:
    dimensions = entry.type.tensor_type.shape.dim
    del dimensions[:]
    for size in shape:
        dimensions.add(dim_value=size)


def _without_numbers(tensor: TensorProto) -> None:
    """Leave a constant that cannot be a shape its own shape alone: it may be large."""
    if tensor.data_type in (tensor.FLOAT, tensor.DOUBLE, tensor.FLOAT16) and len(tensor.dims) > 1:
        for field, _ in tensor.ListFields():
            if field.name.endswith("_data"):
                tensor.ClearField(field.name)


def _stand_in(node: NodeProto, graph: GraphProto) -> list[NodeProto]:
    """Standard operators with the shapes of an operator of ``ai.onnx.ml``, of which ONNX does not know all."""
    from onnx import TensorProto
    from onnx.helper import make_node

    first, made = (list(node.input) or [""])[0], list(node.output)
    operator = node.op_type if node.domain == ML else ""
    if operator in ("Scaler", "Normalizer"):
        return [make_node("Cast", [first], made, to=TensorProto.FLOAT)]
    if operator in ("Imputer", "Binarizer"):
        return [make_node("Identity", [first], made)]
    if operator == "FeatureVectorizer":
        parts = [f"{made[0]}/{index}" for index in range(len(node.input))]
        casts = [
            make_node("Cast", [name], [part], to=TensorProto.FLOAT)
            for name, part in zip(node.input, parts, strict=True)
        ]
        return [*casts, make_node("Concat", parts, made, axis=1)]
    if operator == "ArrayFeatureExtractor":
        flat = _constant(graph, f"{made[0]}/flat", np.array([-1]))
        indices = make_node("Reshape", [node.input[1], flat], [f"{made[0]}/indices"])
        rows = make_node("Flatten", [first], [f"{made[0]}/rows"], axis=-1)
        return [indices, rows, make_node("Gather", [f"{made[0]}/rows", f"{made[0]}/indices"], made, axis=1)]
    if operator in ("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor"):
        return _columns(graph, first, made[0], _width(node), TensorProto.FLOAT)
    if operator in ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"):
        label = TensorProto.STRING if _lengths(node).get("classlabels_strings") else TensorProto.INT64
        scores = _columns(graph, first, made[1], _width(node), TensorProto.FLOAT) if len(made) > 1 else []
        return [*(_columns(graph, first, made[0], None, label) if made[0] else []), *scores]
    return [node]


def _columns(graph: GraphProto, source: str, made: str, width: int | None, element_type: int) -> list[NodeProto]:
    """Nodes that make (n, ``width``), or (n,), of (n, D)."""
    from onnx.helper import make_node

    picked = _constant(graph, f"{made}/picked", np.zeros(() if width is None else width, dtype=np.int64))
    gather = make_node("Gather", [source, picked], [f"{made}/columns"], axis=1)
    return [gather, make_node("Cast", [f"{made}/columns"], [made], to=element_type)]


def _constant(graph: GraphProto, name: str, numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    from onnx import numpy_helper

    graph.initializer.append(numpy_helper.from_array(numbers, name))
    return name


def _width(node: NodeProto) -> int:
    """The columns that a model inside the graph makes: one a class or a target."""
    lengths = _lengths(node)
    labels = ("classlabels_strings", "classlabels_ints", "classlabels_int64s", "intercepts")
    width = max([1, *(lengths.get(name, 0) for name in labels)])
    for attribute in node.attribute:
        if attribute.name in ("targets", "n_targets"):
            width = attribute.i
    if not 0 < width <= LARGEST_WIDTH:
        raise ValueError(f"operator {node.op_type} makes {width} columns")
    return width


def _lengths(node: NodeProto) -> dict[str, int]:
    """How many numbers or texts each attribute of a node has."""
    return {
        attribute.name: len(attribute.ints) + len(attribute.floats) + len(attribute.strings)
        for attribute in node.attribute
    }
