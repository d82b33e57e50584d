"""A small program in memory, whose model anybody can compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..schemas.encoding import FeatureCodec
from ..schemas.spec import ProgramSpec
from ..streams.programs.bundle.loader import ModelBundle
from ..streams.programs.bundle.manifest import BundleFile, FeatureColumn, Manifest
from ..streams.programs.models.scoring import DecisionModel
from ..streams.programs.program import Program, cost_of

FEATURES: Sequence[Mapping[str, Any]] = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none", "audit": True},
    {"name": "income", "type": "continuous", "bounds": [0, 100], "unit": "kEUR"},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
)
PLAIN: Mapping[str, Any] = {"objective": "cost", "generator": "instances", "options": 1}
"""What a test's program does where the test says nothing else: its options are few and known."""


class IncomeModel:
    """Scores income against debts; no two candidates tie."""

    def score(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score the rows between 0 and 1."""
        return np.clip(X[:, 2] - 0.5 * X[:, 3], 0.0, 1.0)


def instances(count: int, regions: Sequence[str] = ("south", "north")) -> list[dict[str, Any]]:
    """Make rows that the model accepts, alternating between the regions."""
    rows: list[dict[str, Any]] = []
    for index in range(count):
        region = regions[index % 2]
        rows.append({"region": region, "income": 70.0 + 29.0 * index / count, "debts": index % 3})
    return rows


def build_program(
    name: str = "loan",
    *,
    window: Mapping[str, Any] | None = None,
    decisions: str = "model",
    shards: int = 1,
    choice: str = "linucb",
    candidates: int = 8,
    features: Sequence[Mapping[str, Any]] = FEATURES,
    policy: Mapping[str, Any] | None = None,
    regions: Sequence[str] = ("south", "north"),
    capacity: Mapping[str, Any] | None = None,
    promise: Mapping[str, Any] | None = None,
    elicitation: Mapping[str, Any] | None = None,
    model: DecisionModel | None = None,
    retrains: Sequence[DecisionModel] = (),
    threshold: float = 0.5,
    effects: Sequence[Mapping[str, Any]] = (),
    computed: Mapping[str, str] | None = None,
) -> Program:
    """Build a program with a linear model and generated instances."""
    spec = msgspec.convert(
        {
            "program": name,
            "features": list(features),
            "label": {"name": "repaid"},
            "model": {"manifest": "unused", "threshold": threshold},
            "policy": {**PLAIN, "choice": choice, "window": dict(window or {"steps": 4}), **(policy or {})},
            "decisions": decisions,
            "shards": shards,
            "capacity": capacity,
            "promise": promise or {},
            "elicitation": elicitation,
            "effects": list(effects),
            "computed": dict(computed or {}),
            "instances": {"publish": {**PLAIN, **(policy or {})}["generator"] == "instances"},
        },
        ProgramSpec,
    )
    codec = FeatureCodec(spec)
    rows = instances(candidates, regions)
    nothing = BundleFile("none", 0, "0" * 64)
    manifest = Manifest(
        program=name,
        version="v1",
        estimator="IncomeModel",
        columns=codec.columns,
        features=tuple(map(FeatureColumn.from_feature, spec.features)),
        model=nothing,
        instances=nothing,
        reference=nothing,
    )
    bundle = ModelBundle("v1", "memory", "1" * 64, manifest, model or IncomeModel(), rows, rows, retrains)
    points = codec.encode_many(rows)
    return Program(spec, codec, bundle, tuple(rows), points, cost_of(codec, rows), 1.0 / codec.dimension)
