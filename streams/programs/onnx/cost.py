"""What scoring a batch takes at most: memory and operations, from the shapes of what its graph computes.

Nothing of it depends on the values of a row, so a model that passes is as cheap for every applicant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .check import tensors_of
from .shapes import ML, Shape, Value, inferred_shapes, inner_graphs

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

LARGEST_BYTES = 64 << 20
"""Of all tensors that one call makes."""
LARGEST_OPERATIONS = 5_000_000
"""For a row: multiplications with an addition, or what takes as long. They take a thread .2 to 2 ms."""
SHARING_ROWS = 32
"""A call may take so many times the operations of a row, however many rows it has: a row may come alone."""

Node = tuple[int, int]
"""The number of a tree, and of a node in it."""
Children = Mapping[Node, Sequence[Node]]

_NODE = 2000
"""Operations that running any operator takes beside its numbers."""
_ELEMENT = 10
"""Operations that reading or making an element takes: exponential functions are among them."""
_TEXT = 2000
_TEXT_BYTES = 64
_WIDEST_ELEMENT = 16
_DEEPEST = 10_000
_PRODUCTS = ("Gemm", "MatMul", "MatMulInteger")

_BY_ELEMENT = frozenset(
    """Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh BatchNormalization Cast CastLike Ceil Celu Clip Concat
    Constant ConstantOfShape Cos Cosh DequantizeLinear Div Dropout DynamicQuantizeLinear Elu Equal Erf Exp Expand
    Flatten Floor Gather GatherElements GatherND Gelu Greater GreaterOrEqual HardSigmoid HardSwish Hardmax Identity
    IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Max Mean Min Mish Mod Mul Neg Not Or PRelu
    Pad Pow
    QuantizeLinear RMSNormalization Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
    ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Scan Selu Shape Sigmoid Sign Sin Sinh Size Slice
    Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Swish Tan Tanh ThresholdedRelu Tile TopK Transpose Unsqueeze
    Where Xor If""".split()  # noqa: SIM905
)
"""Operators that go through their elements once. Of any other, not even its kind of work is taken for granted."""


class CallCost(NamedTuple):
    """The memory in bytes and the operations of a call."""

    bytes: int
    operations: int


def check_cost(model: ModelProto, inputs: Mapping[str, Shape], rows: int, texts: Sequence[str]) -> None:
    """Raise ValueError where scoring ``rows`` rows, in ``inputs`` of these shapes, may take too much.

    ``texts`` are those that the inputs may hold.
    """
    cost = cost_of(model, inputs, texts)
    if cost.bytes > LARGEST_BYTES:
        raise ValueError(f"scoring {rows} rows takes up to {cost.bytes} bytes of memory, the limit is {LARGEST_BYTES}")
    most = LARGEST_OPERATIONS * min(rows, SHARING_ROWS)
    if cost.operations > most:
        raise ValueError(f"scoring {rows} rows takes up to {cost.operations} operations, the limit is {most}")


def cost_of(model: ModelProto, inputs: Mapping[str, Shape], texts: Sequence[str]) -> CallCost:
    """The memory and operations of one call. Raises ValueError where a shape depends on values."""
    values = inferred_shapes(model, inputs)
    text_bytes = _TEXT_BYTES + max([_longest_text(model.graph), *(len(text.encode()) for text in texts)])
    return _graph_cost(model.graph, values, _Sizes(text_bytes))


class _Sizes:
    """The memory and the time of elements by their type."""

    def __init__(self, text_bytes: int) -> None:
        self._text_bytes = text_bytes

    def bytes(self, value: Value) -> int:
        from onnx import TensorProto, helper

        if value.element_type == TensorProto.STRING:
            return value.size * self._text_bytes
        return value.size * max(1, int(helper.tensor_dtype_to_np_dtype(value.element_type).itemsize))

    def operations(self, value: Value) -> int:
        from onnx import TensorProto

        is_text = value.element_type == TensorProto.STRING
        return value.size * (max(_TEXT, self._text_bytes) if is_text else _ELEMENT)


def _graph_cost(graph: GraphProto, values: Mapping[str, Value], sizes: _Sizes) -> CallCost:
    costs = [_node_cost(node, values, sizes) for node in graph.node]
    return CallCost(sum(cost.bytes for cost in costs), sum(cost.operations for cost in costs))


def _node_cost(node: NodeProto, values: Mapping[str, Value], sizes: _Sizes) -> CallCost:
    if node.op_type == "StringConcat":
        raise ValueError("operator StringConcat makes texts of any length: export the model without it")
    taken = [values[name] for name in node.input if name in values]
    made = [values[name] for name in node.output if name]
    memory, operations = sum(map(sizes.bytes, made)), _NODE + sum(map(sizes.operations, made))
    if node.op_type in _PRODUCTS:
        return CallCost(memory, operations + _product(node, taken, made))
    operations += sum(map(sizes.operations, taken))
    if node.domain == ML:
        return CallCost(memory, operations + _rows(taken) * _ml_operations(node))
    if node.op_type not in _BY_ELEMENT:
        # No more than every element of each input with every other, for every element that is made.
        most = math.prod(max(1, value.size) for value in taken) * max(1, sum(value.size for value in made)) ** 2
        return CallCost(memory + most * _WIDEST_ELEMENT, operations + most)
    for inner in inner_graphs(node):
        cost = _graph_cost(inner, values, sizes)
        memory, operations = memory + cost.bytes, operations + _repeats(node, values) * cost.operations
    return CallCost(memory, operations)


def _repeats(node: NodeProto, values: Mapping[str, Value]) -> int:
    """How often the graph inside a node runs: of ``Scan`` once for each slice of what it reads."""
    if node.op_type != "Scan":
        return 1
    attributes = {attribute.name: attribute for attribute in node.attribute}
    scanned = attributes["num_scan_inputs"].i
    sizes = [max(values[name].shape, default=1) for name in node.input[-scanned:] if name in values]
    return max(sizes, default=1)


def _product(node: NodeProto, taken: Sequence[Value], made: Sequence[Value]) -> int:
    """Of a product of matrices: as many operations for each number as the first has columns, or rows if transposed."""
    shape = taken[0].shape or (1,)
    return sum(value.size for value in made) * (max(shape) if node.op_type == "Gemm" else shape[-1])


def _rows(taken: Sequence[Value]) -> int:
    return max((value.shape[0] for value in taken if value.shape), default=1)


def _ml_operations(node: NodeProto) -> int:
    """The work of an operator of ``ai.onnx.ml`` on a row: an ensemble walks down its trees, others use all numbers."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if "nodes_truenodeids" in attributes and "nodes_nodeids" in attributes:
        return _ELEMENT * _steps(attributes)
    if node.op_type == "TreeEnsemble":
        _check_ways_down(_numbered_children(attributes))
    return 2 * sum(len(part.ints) + len(part.floats) + len(part.strings) for part in node.attribute)


def _steps(attributes: Mapping[str, AttributeProto]) -> int:
    """The longest ways down all trees of an ensemble, added."""
    trees, nodes, thens, elses = (
        attributes[f"nodes_{name}"].ints for name in ("treeids", "nodeids", "truenodeids", "falsenodeids")
    )
    leaves = [mode == b"LEAF" for mode in attributes["nodes_modes"].strings]
    if len({len(trees), len(nodes), len(thens), len(elses), len(leaves)}) != 1:
        raise ValueError("the attributes of an ensemble of trees do not fit together")
    children = {
        (tree, node): () if leaf else ((tree, then), (tree, other))
        for tree, node, then, other, leaf in zip(trees, nodes, thens, elses, leaves, strict=True)
    }
    _check_ways_down(children)
    level = set(children).difference(child for both in children.values() for child in both)
    steps = len({tree for tree, _ in level})
    for _ in range(_DEEPEST):
        level = {child for parent in level for child in children.get(parent, ())}
        if not level:
            return steps
        steps += len({tree for tree, _ in level})
    raise ValueError(f"a way down its trees has more than {_DEEPEST} steps")


def _numbered_children(attributes: Mapping[str, AttributeProto]) -> Children:
    """The children of the inner nodes of a ``TreeEnsemble``, whose nodes are numbered through."""
    names = "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs"
    thens, elses, then_leaves, else_leaves = (attributes[name].ints for name in names)
    if len({len(thens), len(elses), len(then_leaves), len(else_leaves)}) != 1:
        raise ValueError("the attributes of an ensemble of trees do not fit together")
    return {
        (0, node): tuple((0, child) for child, is_leaf in ((then, is_then), (other, is_other)) if not is_leaf)
        for node, (then, other, is_then, is_other) in enumerate(
            zip(thens, elses, then_leaves, else_leaves, strict=True)
        )
    }


def _check_ways_down(children: Children) -> None:
    """Raise ``ValueError`` where a way down has no end: onnxruntime would walk in a circle for ever."""
    parents = Counter(child for both in children.values() for child in both)
    reached = [node for node in children if not parents[node]]
    for node in reached:
        for child in children[node]:
            parents[child] -= 1
            if not parents[child] and child in children:
                reached.append(child)
    if len(reached) < len(children):
        raise ValueError("a way down its trees leads back to where it came from")


def _longest_text(graph: GraphProto) -> int:
    """The bytes of the longest text among a graph's constants."""
    lengths = [len(text) for tensor in tensors_of(graph) for text in tensor.string_data]
    for node in graph.node:
        lengths += [len(text) for attribute in node.attribute for text in (*attribute.strings, attribute.s)]
        lengths += [_longest_text(inner) for inner in inner_graphs(node)]
    return max(lengths, default=0)
