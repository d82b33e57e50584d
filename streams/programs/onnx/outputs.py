"""The output of an ONNX classifier that holds probabilities, and the class that is the desired one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....schemas.events import Value

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, ValueInfoProto

LABELS = ("classlabels_int64s", "classlabels_ints", "classlabels_strings")
"""The attributes in which classifiers, and ZipMap, hold the names of their classes."""


def with_one_output(model: ModelProto, name: str | None = None) -> None:
    """Leave a model with the output that holds its probabilities, as a tensor.

    ``name`` names it where there are several. Raises ValueError when it is not plain which output to take.
    """
    from onnx import TensorProto
    from onnx.helper import make_tensor_value_info

    output = _probabilities(model, name)
    if not output.type.HasField("tensor_type"):
        zipmap = next((node for node in model.graph.node if output.name in node.output), None)
        if zipmap is None or zipmap.op_type != "ZipMap":
            raise ValueError(f"output {output.name} is neither a tensor nor made by ZipMap")
        output = make_tensor_value_info(zipmap.input[0], TensorProto.FLOAT, None)
        model.graph.node.remove(zipmap)
    kept = type(output).FromString(output.SerializeToString())
    del model.graph.output[:]
    model.graph.output.append(kept)


def desired_class(model: ModelProto, desired: Value) -> tuple[int, str]:
    """The position and name of the desired class: of ``desired``, the label's value in the spec, else of class 1.

    Without names of classes it is the second. Call it before ``with_one_output``. Raises ValueError when the classes
    are not two, or neither of them is the desired one.
    """
    labels = _class_labels(model.graph.node)
    if labels is None:
        return 1, "1"
    if len(labels) != 2:
        raise ValueError(f"it tells {len(labels)} classes apart; a program's model has two")
    if str(desired) in labels:
        return labels.index(str(desired)), str(desired)
    if labels == ["0", "1"]:
        return 1, "1"
    raise ValueError(f"its classes are {' and '.join(labels)}; label.desired of the spec is {desired}, none of them")


def _probabilities(model: ModelProto, name: str | None) -> ValueInfoProto:
    outputs: dict[str, ValueInfoProto] = {output.name: output for output in model.graph.output}
    if name is not None:
        if name not in outputs:
            raise ValueError(f"it has no output {name}; its outputs are {', '.join(outputs)}")
        return outputs[name]
    candidates = [output for output in outputs.values() if _may_be_probabilities(output)]
    if len(candidates) != 1:
        few = "none of its outputs" if not candidates else f"{len(candidates)} of its outputs"
        raise ValueError(
            f"{few} ({', '.join(outputs)}) may be probabilities: export one, or name it with --probabilities"
        )
    return candidates[0]


def _may_be_probabilities(output: ValueInfoProto) -> bool:
    from onnx import TensorProto

    if output.type.HasField("tensor_type"):
        return output.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.DOUBLE)
    return bool(output.type.HasField("sequence_type"))


def _class_labels(nodes: Sequence[NodeProto]) -> list[str] | None:
    """The names of the classes by the last operator that names any."""
    for node in reversed(nodes):
        for attribute in node.attribute:
            if attribute.name in LABELS and (attribute.ints or attribute.strings):
                return [*map(str, attribute.ints), *(text.decode() for text in attribute.strings)]
    return None
