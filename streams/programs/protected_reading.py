"""Whether a model may decide by what a spec protects: only where ``model.may_read`` names the feature.

A linear model reads the features that have a weight, a sum of trees those that it asks for, a network those that its
first layer weighs, and a model that onnxruntime scores those that it has an input for. Where a model takes all
encoded columns and is none of these, it is not known what it leaves aside: it reads all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...agents.candidates import LinearScore
from ...agents.fitted_trees.forests import Forest
from ...agents.trees import TreeSum
from ...schemas.draft.yaml_text import flow_list
from ...schemas.encoding import FeatureCodec
from .models.scoring import DecisionModel, Perceptron
from .onnx.model import OnnxModel, ServedOnnxModel

NOT_TO_BE_READ = (
    "the model reads {}, which the spec protects: write `model: {{may_read: {}}}` where it is allowed to decide by "
    "it, and announce that spec where the program runs already; else train a model without it, as `onward train` does"
)


def protected_fault(model: DecisionModel, codec: FeatureCodec) -> str | None:
    """Why a model must not decide for the spec of ``codec``; None where it reads nothing but what it may."""
    spec = codec.spec
    columns = {feature.name: codec.feature_of == index for index, feature in enumerate(spec.features)}
    read = [name for name in spec.barred if _reads(model, name, columns[name])]
    allowed = spec.model.may_read or ()
    return NOT_TO_BE_READ.format(", ".join(read), flow_list((*allowed, *read))) if read else None


def _reads(model: DecisionModel, feature: str, columns: NDArray[np.bool_]) -> bool:
    """Whether a model's score may depend on a feature, which is encoded in ``columns`` (D,)."""
    if isinstance(model, TreeSum | Forest):
        asked = (model if isinstance(model, TreeSum) else model.as_sum()).nodes[:, 0]
        return bool(columns[asked[asked >= 0]].any())
    if isinstance(model, Perceptron):
        return bool(model.layers[0][0][columns].any())
    if isinstance(model.score, LinearScore):
        return bool(np.asarray(model.score.weights)[columns].any())
    if isinstance(model, OnnxModel | ServedOnnxModel) and model.features is not None:
        return feature in model.features
    return True
