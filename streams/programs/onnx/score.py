"""How a model in ONNX is scored, as the manifest of its bundle says it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class OnnxScore(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How onnxruntime scores an ONNX model.

    ``column`` is the position of the desired class among two. ``rows`` is the size of every batch.
    """

    column: Annotated[int, Meta(ge=0, le=1)]
    rows: Annotated[int, Meta(ge=1, le=1024)]
