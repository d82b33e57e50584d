"""The limits of an ONNX file: standard operators on data of its own, and nothing that could run on or guess."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import ModelError
from .shapes import graphs_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
"""The operators that ONNX itself defines. Others are code that somebody would have to install."""
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Operators whose results differ from run to run."""

NEEDS_EXTRA = "an ONNX model needs onnx and onnxruntime: install onward with its extra onnx"


def parse_onnx(content: bytes) -> ModelProto:
    """The model of a file's bytes. Raises ValueError when it is none, or holds what is not allowed."""
    try:
        import onnx
    except ImportError:
        raise ModelError(NEEDS_EXTRA) from None
    try:
        model: ModelProto = onnx.ModelProto.FromString(content)
    except Exception:  # protobuf's error, of a package that only onnx requires
        raise ValueError("it is not an ONNX file") from None
    if not model.graph.node:
        raise ValueError("it is not an ONNX file, or an empty one")
    _check_domains(model)
    for graph in graphs_of(model.graph):
        for tensor in tensors_of(graph):
            if tensor.external_data or tensor.data_location == onnx.TensorProto.EXTERNAL:
                raise ValueError(f"tensor {tensor.name} is kept in another file: save the model as one file")
        for node in graph.node:
            _check_operator(node, {entry.domain or "": entry.version for entry in model.opset_import})
    return model


def _check_domains(model: ModelProto) -> None:
    foreign = sorted({entry.domain for entry in model.opset_import}.difference(DOMAINS))
    foreign += sorted({node.domain for graph in graphs_of(model.graph) for node in graph.node}.difference(DOMAINS))
    if foreign:
        raise ValueError(f"it uses operators of domain {foreign[0]}: export it with the standard ones only")
    if model.functions:
        raise ValueError(f"it defines operator {model.functions[0].name} itself: export it with the standard ones only")


def _check_operator(node: NodeProto, versions: dict[str, int]) -> None:
    import onnx

    domain = "" if node.domain == "ai.onnx" else node.domain
    newest = onnx.defs.onnx_opset_version() if not domain else onnx.defs.onnx_ml_opset_version()
    version = max(1, min(versions.get(domain, newest), newest))
    if not onnx.defs.has(node.op_type, version, domain):
        raise ValueError(f"there is no operator {node.op_type} in ONNX")
    if node.op_type in RANDOM:
        raise ValueError(f"operator {node.op_type} is random: a model must give equal rows equal scores")
    for attribute in node.attribute:
        if attribute.name == "nodes_featureids" and min(attribute.ints, default=0) < 0:
            raise ValueError(f"operator {node.op_type} asks for column {min(attribute.ints)}")
    if node.op_type == "Loop":
        raise ValueError("operator Loop may never end: export the model without loops")


def tensors_of(graph: GraphProto) -> Iterator[TensorProto]:
    """The constants of a graph, but for those of graphs inside its nodes."""
    yield from graph.initializer
    sparse = list(graph.sparse_initializer)
    for node in graph.node:
        for attribute in node.attribute:
            yield from (*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors)
            sparse += [*([attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else [])]
            sparse += attribute.sparse_tensors
    for tensor in sparse:
        yield from (tensor.values, tensor.indices)
