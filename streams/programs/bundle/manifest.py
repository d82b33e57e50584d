"""The manifest of a model bundle: the description of every file in it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from ....agents.promises import RetrainsPromise
from ....schemas.events import Identifier, ProgramName, Value
from ....schemas.spec import Feature, FeatureType, Name, PromiseTerms
from ..onnx.score import OnnxScore
from .former_metrics import measured_by
from .measured import Measured

MANIFEST = "manifest.json"
LARGEST_FILE_BYTES = 1 << 30


class BundleFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the bundle. ``size`` is in bytes."""

    file: str
    size: Annotated[int, Meta(ge=0, le=LARGEST_FILE_BYTES)]
    sha256: str


class Calibration(Struct, frozen=True, forbid_unknown_fields=True):
    """How far predicted probabilities can be believed, on held-out rows.

    ``reliability`` is by tenths of the rows, by ascending prediction: mean prediction, share of the desired label,
    rows.
    """

    brier_score: float
    roc_auc: float
    reliability: tuple[tuple[float, float, int], ...]


class ImprovementFile(BundleFile, frozen=True, forbid_unknown_fields=True):
    """The file of what says whether a change helps, its method, and how it is calibrated."""

    method: str
    calibration: Calibration


Portion = Annotated[float, Meta(ge=0, le=1)]
IMPLIED = RetrainsPromise.name
"""The promise of a calibration that names none."""


class PromiseCalibration(Struct, frozen=True, forbid_unknown_fields=True):
    """The share and bound that a promise states of an option, by how many of its certifying retrains accept it.

    It was measured with so many ``models``, trained on ``other`` rows of the data than the program, or on ``later``
    ones, under a promise of this ``kind`` with this ``quantile``, ``margin`` and other ``parameters``. ``shares`` and
    ``bounds`` begin with those of an option that no certifying retrain accepts.
    """

    rows: Literal["other", "later"]
    models: Annotated[int, Meta(ge=1)]
    quantile: float
    margin: float
    shares: tuple[Portion, ...]
    bounds: tuple[Portion, ...]
    kind: Name | UnsetType = UNSET
    parameters: dict[str, float | str] | UnsetType = UNSET

    def matches(self, terms: PromiseTerms) -> bool:
        """Whether it was measured under a promise on these terms."""
        measured = self.kind or IMPLIED, self.quantile, self.margin, self.parameters or {}
        return measured == (terms.kind, terms.quantile, terms.margin, terms.parameters or {})


class FeatureColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """A raw column of the bundle's tables.

    ``bounds`` and ``levels`` are those that the model was trained with, where the feature has some.
    """

    name: Name
    type: FeatureType
    bounds: tuple[float, float] | UnsetType = UNSET
    levels: tuple[str, ...] | UnsetType = UNSET

    @classmethod
    def from_feature(cls, feature: Feature) -> FeatureColumn:
        """The column of a feature."""
        return cls(
            feature.name,
            feature.type,
            UNSET if feature.bounds is None else feature.bounds,
            UNSET if feature.levels is None else feature.levels,
        )


class FittedSlope(Struct, frozen=True, forbid_unknown_fields=True):
    """How a feature follows another, raw, and how that differs between people."""

    slope: float
    deviation: float


class FittedEffect(Struct, frozen=True, forbid_unknown_fields=True, rename={"from_": "from"}):
    """An effect of the spec as it was fitted: raw, in units of ``to`` for one unit of ``from``.

    ``strata`` are the slopes of people with these values of the feature ``by``, where they differ. The others have the
    ``slope``, which is that of all.
    """

    from_: Name
    to: Name
    slope: float
    deviation: float
    by: Name | UnsetType = UNSET
    strata: dict[str, FittedSlope] | UnsetType = UNSET


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of a bundle. ``columns`` are the encoded columns that the model was fitted on, in order.

    The model's file is skops, npz or onnx by its ending; ``onnx`` belongs to the last.
    ``population`` says what people are like (``population.py``); bundles of older versions have raw rows instead, as
    ``reference``. ``margin`` is the one at which retrained models accept the options too (``training/margin.py``).
    ``retrains`` holds models of resamples of the data, by which promises are measured, ``promise_calibration`` what
    their verdict is worth under models of other rows, and ``goal_policy`` the learned policy of a goal for rounds.
    ``improvement`` says which changes help (``agents/improvement/``), and ``effects`` are those of the spec, as fitted.
    ``baseline`` is what people of the data whom the model approves are typically like (``baseline.py``). What
    training found out about the model is ``measured``; bundles of older versions have ``metrics`` instead, which are
    read as such (``former_metrics.py``). ``verifier`` belongs to a former choice and is not read.
    """

    format: Literal[1] = 1
    program: ProgramName
    version: Identifier
    estimator: str
    columns: tuple[str, ...]
    features: tuple[FeatureColumn, ...]
    model: BundleFile
    instances: BundleFile
    reference: BundleFile | UnsetType = UNSET
    population: BundleFile | UnsetType = UNSET
    verifier: Raw | UnsetType = UNSET
    retrains: BundleFile | UnsetType = UNSET
    promise_calibration: PromiseCalibration | UnsetType = UNSET
    effects: tuple[FittedEffect, ...] | UnsetType = UNSET
    goal_policy: BundleFile | UnsetType = UNSET
    improvement: ImprovementFile | UnsetType = UNSET
    onnx: OnnxScore | UnsetType = UNSET
    baseline: dict[Name, Value] | UnsetType = UNSET
    margin: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    measured: Measured = Measured()
    metrics: dict[str, float] | UnsetType = UNSET
    libraries: dict[str, str] = {}

    def __post_init__(self) -> None:
        """Read the numbers of an older version."""
        if self.metrics is not UNSET:
            msgspec.structs.force_setattr(self, "measured", measured_by(self.metrics))
            msgspec.structs.force_setattr(self, "metrics", UNSET)
