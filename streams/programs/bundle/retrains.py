"""The retrains of a bundle: models of one kind in one npz file. Arrays can run no code.

    layers    logistic regressions and networks: weights_0 (B, D, units), bias_0 (B, units) and so on by layer, and the
              name of the activation between them
    trees     the arrays of ``agents/trees.py``, one sum of trees after the other; nodes are numbered within their sum
    ONNX      the bytes of all files, and how each is scored

``first_...`` (B + 1,) are the positions at which the parts of each model begin, and where the last one ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, UnsetType, convert
from msgspec.structs import replace
from numpy.typing import NDArray

from ....agents.fitted_trees.forests import Forest
from ....agents.trees import TreeSum, check_trees, digits_in
from ....schemas.encoding import FeatureCodec
from ..models.scoring import DecisionModel, Layer, LogisticLayer, Perceptron, scorer
from ..onnx.score import OnnxScore
from .model_files import packed, unpacked

if TYPE_CHECKING:
    from ..onnx.model import OnnxModel

Arrays = Mapping[str, NDArray[Any]]

FEWEST = 2
"""One to choose options by, and one to certify them."""

TREES: Mapping[str, tuple[int, Sequence[str]]] = {
    "first_root": (1, ["int64"]),
    "first_node": (1, ["int64"]),
    "roots": (1, ["int64"]),
    "nodes": (2, ["int32"]),
    "threshold": (1, ["float32", "float64"]),
    "value": (1, ["float64"]),
    "base": (1, ["float64"]),
    "logistic": (0, ["bool"]),
}
ONNX: Mapping[str, tuple[int, Sequence[str]]] = {
    "first_byte": (1, ["int64"]),
    "content": (1, ["uint8"]),
    "column": (1, ["int64"]),
    "rows": (1, ["int64"]),
}
"""The arrays of a file by kind: their dimensions and types."""


def retrain_of(estimator: Any, columns: int) -> DecisionModel:
    """The model of a fitted estimator over ``columns`` as a file of retrains holds it.

    A forest becomes the sum of its trees, whose last bit differs from that of scikit-learn's score. Raises ValueError
    for an estimator that is not supported.
    """
    model = scorer(estimator, columns)
    return model.as_sum() if isinstance(model, Forest) else model


def dump_retrains(models: Sequence[DecisionModel]) -> bytes:
    """The models, of ``retrain_of`` or imported, as a compressed npz file; equal models give equal bytes.

    Raises ValueError for models of different kinds or shapes.
    """
    return packed(_arrays(models))


def load_retrains(
    content: bytes, columns: int, codec: FeatureCodec | None = None, onnx: OnnxScore | UnsetType = UNSET
) -> list[DecisionModel]:
    """The models of a file over ``columns``, with the scores that they were written with, bit for bit.

    ``codec`` is the program's, which only ONNX models of raw features need, and ``onnx`` says how their model is
    scored. Raises an error, one line of which says why the file is refused.
    """
    arrays = unpacked(content)
    if "content" in arrays:
        models = list(_loaded_onnx(arrays, columns, codec, onnx))
    else:
        models = list((_loaded_trees if "nodes" in arrays else _loaded_layers)(arrays, columns))
    if len(models) < FEWEST:
        raise ValueError(f"it holds {len(models)} retrains, a promise needs at least {FEWEST}")
    return models


def _arrays(models: Sequence[DecisionModel]) -> Arrays:
    if all(isinstance(model, LogisticLayer | Perceptron) for model in models):
        return _of_layers([model for model in models if isinstance(model, LogisticLayer | Perceptron)])
    if all(isinstance(model, TreeSum) for model in models):
        return _of_trees([model for model in models if isinstance(model, TreeSum)])
    from ..onnx.model import OnnxModel

    if all(isinstance(model, OnnxModel) for model in models):
        return _of_onnx([model for model in models if isinstance(model, OnnxModel)])
    kinds = ", ".join(sorted({type(model).__name__ for model in models}))
    raise ValueError(f"the retrains are of the kinds {kinds}; one file holds one of layers, trees or ONNX")


def _of_layers(models: Sequence[LogisticLayer | Perceptron]) -> Arrays:
    layers = [[_layer(model)] if isinstance(model, LogisticLayer) else model.layers for model in models]
    if len({tuple(weights.shape for weights, _ in retrain) for retrain in layers}) != 1:
        raise ValueError("the retrains have layers of different shapes")
    activations = {model.activation for model in models if isinstance(model, Perceptron)} or {"identity"}
    if len(activations) != 1:
        raise ValueError(f"the retrains have the activations {', '.join(sorted(activations))}, not one")
    arrays: dict[str, NDArray[Any]] = {"activation": np.array(activations.pop())}
    for number, same in enumerate(zip(*layers, strict=True)):
        arrays[f"weights_{number}"] = np.stack([weights for weights, _ in same])
        arrays[f"bias_{number}"] = np.stack([bias for _, bias in same])
    return arrays


def _layer(model: LogisticLayer) -> Layer:
    return model.score.weights[:, np.newaxis], np.array([model.score.bias])


def _loaded_layers(arrays: Arrays, columns: int) -> Iterator[DecisionModel]:
    pairs = [(f"weights_{number}", f"bias_{number}") for number in range(len(arrays) // 2)]
    names = [name for pair in pairs for name in pair]
    _check_layout(arrays, {name: (2 + (name[0] == "w"), ["float64"]) for name in names})
    activation = arrays.get("activation", np.array(""))
    if not names or activation.ndim or activation.dtype.kind != "U":
        raise ValueError("it holds no layers with their activation")
    if len({len(arrays[name]) for name in names}) != 1:
        raise ValueError("its arrays are of different numbers of retrains")
    for number in range(len(arrays[names[0]])):
        layers = [(arrays[weights][number], arrays[bias][number]) for weights, bias in pairs]
        is_single = len(layers) == 1
        yield LogisticLayer(*layers[0], columns) if is_single else Perceptron(layers, str(activation), columns)


def _of_trees(models: Sequence[TreeSum]) -> Arrays:
    if len({(model.logistic, model.threshold.dtype, model.digits) for model in models}) != 1:
        raise ValueError("the retrains are trees of different kinds")
    return {
        "first_root": _starts([len(model.roots) for model in models]),
        "first_node": _starts([len(model.nodes) for model in models]),
        "roots": np.concatenate([model.roots for model in models]).astype(np.int64),
        "nodes": np.concatenate([model.nodes for model in models]),
        "threshold": np.concatenate([model.threshold for model in models]),
        "value": np.concatenate([model.value for model in models]),
        "base": np.array([model.base for model in models], dtype=np.float64),
        "logistic": np.array(models[0].logistic),
        **({} if models[0].digits is None else {"digits": np.array(models[0].digits, dtype=np.int64)}),
    }


def _loaded_trees(arrays: Arrays, columns: int) -> Iterator[DecisionModel]:
    _check_layout(arrays, TREES)
    count, digits = len(arrays["base"]), digits_in(arrays)
    roots = _parts(arrays["first_root"], count, len(arrays["roots"]))
    nodes = _parts(arrays["first_node"], count, len(arrays["nodes"]))
    if not len(arrays["nodes"]) == len(arrays["threshold"]) == len(arrays["value"]):
        raise ValueError("the arrays of its trees have different lengths")
    for number, (own_roots, own_nodes) in enumerate(zip(roots, nodes, strict=True)):
        trees = TreeSum(
            arrays["roots"][own_roots].astype(np.intp),
            arrays["nodes"][own_nodes],
            arrays["threshold"][own_nodes],
            arrays["value"][own_nodes],
            float(arrays["base"][number]),
            bool(arrays["logistic"]),
            digits,
        )
        yield check_trees(trees, columns)


def _of_onnx(models: Sequence[OnnxModel]) -> Arrays:
    return {
        "first_byte": _starts([len(model.content) for model in models]),
        "content": np.frombuffer(b"".join(model.content for model in models), dtype=np.uint8),
        "column": np.array([model.reading.column for model in models], dtype=np.int64),
        "rows": np.array([model.reading.rows for model in models], dtype=np.int64),
    }


def _loaded_onnx(
    arrays: Arrays, columns: int, codec: FeatureCodec | None, model: OnnxScore | UnsetType
) -> Iterator[DecisionModel]:
    from ..onnx.model import load_onnx

    _check_layout(arrays, ONNX)
    column, rows = arrays["column"].tolist(), arrays["rows"].tolist()
    files = _parts(arrays["first_byte"], len(column), len(arrays["content"]))
    # What a model over a matrix takes, and how far its score is rounded, is the same for its retrains.
    shared = {} if isinstance(model, UnsetType) else {"digits": model.digits, "matrix": model.matrix}
    for file, *columns_and_rows in zip(files, column, rows, strict=True):
        score = convert(dict(zip(("column", "rows"), columns_and_rows, strict=True)), OnnxScore)
        score = replace(score, **shared)
        yield load_onnx(arrays["content"][file].tobytes(), score, columns, codec)


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _parts(starts: NDArray[np.int64], count: int, total: int) -> list[slice]:
    """The slices of ``count`` models, of an array of the length ``total``."""
    if len(starts) != count + 1 or starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 1).any():
        raise ValueError(f"its arrays do not hold {count} retrains one after the other")
    return [slice(start, end) for start, end in pairwise(starts.tolist())]


def _check_layout(arrays: Arrays, layout: Mapping[str, tuple[int, Sequence[str]]]) -> None:
    for name, (dimensions, types) in layout.items():
        array = arrays.get(name)
        if array is None:
            raise ValueError(f"array {name} is missing")
        if array.ndim != dimensions or array.dtype.name not in types:
            raise ValueError(f"array {name} is of {array.dtype.name} with {array.ndim} dimensions")
