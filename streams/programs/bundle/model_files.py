"""The files that hold models: skops for scikit-learn estimators, npz for trees, ONNX for everything else.

None of them can run code: skops reads estimators, never pickle, and only types on a short list are accepted; npz holds
arrays; ONNX holds standard operators (``onnx/check.py``).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ....agents.actor import load_arrays
from ....agents.trees import TreeSum, dump_trees, load_trees
from ....schemas.encoding import FeatureCodec
from ...errors import ModelError, UsageError, one_line
from ..models.calibration import folded, sklearn_type
from ..models.scoring import DecisionModel, scorer, type_name
from ..onnx.score import OnnxScore
from .manifest import LARGEST_FILE_BYTES

if TYPE_CHECKING:
    from ..onnx.model import OnnxModel

TRUSTED_TYPES = (
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)
"""Types that a model may hold beside those that skops trusts: the optimizers that an ``MLPClassifier`` was fitted with
(plain attributes), and the arrays of a tree (``agents/fitted_trees/forests.py`` checks them)."""

KEPT_AS_SKOPS = ("ExtraTreesClassifier", "LogisticRegression", "MLPClassifier", "RandomForestClassifier")
"""The estimators of scikit-learn that a file of skops may hold. Others are kept as trees."""

LARGEST_UNPACKED_BYTES = 4 << 30
"""Of a model's arrays, which a file holds compressed."""


class ModelFile(NamedTuple):
    """A model as a file: its ending, its bytes, the name of its type, and how it is scored if it is ONNX."""

    ending: str
    content: bytes
    estimator: str
    onnx: OnnxScore | UnsetType = UNSET


def model_file(model: Any, columns: int) -> ModelFile:
    """The file of a fitted estimator, of a ``TreeSum``, or of an ``OnnxModel``.

    Raises ValueError for an estimator that could not be loaded again.
    """
    if isinstance(model, TreeSum):
        return ModelFile(".npz", dump_trees(model), "trees")
    if not hasattr(model, "get_params"):
        return _onnx_file(model)
    scores = scorer(model, columns)
    if isinstance(scores, TreeSum):
        return ModelFile(".npz", dump_trees(scores), type_name(model))
    import skops.io

    kept = folded(model, columns) if sklearn_type(model) == "CalibratedClassifierCV" else model
    return ModelFile(".skops", skops.io.dumps(kept, compression=ZIP_DEFLATED), type_name(model))


def read_model(
    name: str, content: bytes, columns: int, onnx: OnnxScore | UnsetType = UNSET, codec: FeatureCodec | None = None
) -> DecisionModel:
    """The model of a file by its ending.

    ``codec`` is the program's, which only an ONNX model of raw features needs. Raises an error, one line of which says
    why the file is refused.
    """
    ending = PurePosixPath(name).suffix
    if ending == ".npz":
        check_unpacked_size(content)
        return load_trees(content, columns)
    if ending != ".onnx":
        return _read_skops(content, columns)
    if isinstance(onnx, UnsetType):
        raise ValueError("the manifest does not say how it is scored: import it with `onward models import`")
    from ..onnx.model import load_onnx

    return load_onnx(content, onnx, columns, codec)


def _onnx_file(model: OnnxModel) -> ModelFile:
    return ModelFile(".onnx", model.content, "onnx", model.reading)


def _read_skops(content: bytes, columns: int) -> DecisionModel:
    import skops.io

    try:
        check_unpacked_size(content)
        unknown = sorted(set(skops.io.get_untrusted_types(data=content)).difference(TRUSTED_TYPES))
    except Exception as error:  # skops has no base class for the errors of a broken file
        raise NotAModelError(f"is not a skops model: {one_line(error)}") from None
    if unknown:
        raise NotAModelError(f"holds types that are not allowed: {', '.join(unknown)}")
    estimator = skops.io.loads(content, trusted=list(TRUSTED_TYPES))
    if sklearn_type(estimator) not in KEPT_AS_SKOPS:
        names = ", ".join(KEPT_AS_SKOPS)
        raise ValueError(f"type {type_name(estimator)} is not supported in a skops file (use one of {names})")
    return scorer(estimator, columns)


def read_local(file: Path) -> bytes:
    """The bytes of a file that is to go into a bundle.

    Raises ``UsageError`` where it cannot be read, ``ModelError`` where it is larger than a bundle's may be.
    """
    try:
        size = file.stat().st_size
        if size > LARGEST_FILE_BYTES:
            raise ModelError(f"{file}: it has {size} bytes; a model may have {LARGEST_FILE_BYTES}")
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None


class NotAModelError(ValueError):
    """A file that is no model. Its text follows the file's name."""


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as a compressed npz file; equal ones give equal bytes."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpacked(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file, none of which can run code."""
    check_unpacked_size(content)
    return load_arrays(io.BytesIO(content))


def check_unpacked_size(content: bytes) -> None:
    """Raise ValueError when the entries of a zip file are larger than a model may be."""
    with ZipFile(io.BytesIO(content)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > LARGEST_UNPACKED_BYTES:
        raise ValueError(f"it unpacks to {size} bytes, the limit is {LARGEST_UNPACKED_BYTES}")
