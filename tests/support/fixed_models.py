"""Models whose numbers are given, so that no library fits anything, and the programs that they serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from onward.agents.improvement import LabelPrior
from onward.agents.improvement.components.ensemble import Ensemble
from onward.agents.trees import TreeSum
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Value
from onward.schemas.spec import ProgramSpec
from onward.streams.programs.assembly import assemble
from onward.streams.programs.bundle.improvement import FittedImprovement
from onward.streams.programs.bundle.manifest import MANIFEST, Calibration, PromiseCalibration
from onward.streams.programs.bundle.writer import write_bundle
from onward.streams.programs.models.scoring import DecisionModel, LogisticLayer
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.goal_policies import constant, written

Rows = Sequence[Mapping[str, Value]]

FEATURES = """\
features:
  - {name: region, type: categorical, categories: [north, south], mutable: none}
  - {name: income, type: continuous, bounds: [0, 100], step: 1, unit: kEUR}
  - {name: debts, type: integer, bounds: [0, 10], mutable: down}
  - {name: housing, type: categorical, categories: [rent, own, family]}
  - {name: training, type: ordinal, levels: [none, school, course, degree], mutable: up}
label: {name: repaid}
"""
COLUMNS = 8
WEIGHTS = np.array([0.0, 0.0, 6.0, -4.0, -0.3, 0.5, 0.0, 1.0])


def assembled(text: str, folder: Path, bias: float, rows: Rows = ()) -> Program:
    """The program of the spec that has a text beside its features, with the folder's model or a new one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.yaml"
    path.write_text(spec_text(text), encoding="utf-8")
    loaded = load_program_spec(path)
    if not (folder / "v1").exists():
        write_model(folder / "v1", loaded.spec, bias, rows)
    return assemble(loaded)


def spec_text(text: str, features: str = FEATURES) -> str:
    """The YAML of a spec."""
    return f"program: loan\n{features}model: {{manifest: v1/{MANIFEST}}}\n{text}\n"


def write_model(
    folder: Path, spec: ProgramSpec, bias: float, rows: Rows = (), *, trees: bool = False, improves: bool = True
) -> None:
    """Write a model whose log odds are ``WEIGHTS`` times the columns, plus ``bias``; or trees.

    Those of the ``rows`` that it accepts are its instances; 60 are drawn by default.
    """
    codec, random = FeatureCodec(spec), np.random.default_rng(5)
    rows = rows or [drawn_person(random) for _ in range(60)]
    X = codec.encode_many(rows)
    accepted = X @ WEIGHTS + bias > 0.0
    approved = [row for row, good in zip(rows, accepted.tolist(), strict=True) if good]
    policy = written(folder.with_suffix(".npz"), constant(0.4))
    again = [_model(bias + shift, trees, tilt) for shift, tilt in random.normal(0.0, 0.05, (12, 2)).round(6).tolist()]
    write_bundle(
        folder,
        spec,
        codec.columns,
        version=folder.name,
        estimator=_stump(bias, 0.0) if trees else _regression(bias),
        instances=approved[: spec.candidates],
        reference=rows,
        margin=0.05,
        retrains=again,
        promise_calibration=PromiseCalibration(
            "other", 80, 0.05, 0.0, tuple(k / 10 for k in range(7)), tuple(k / 20 for k in range(7))
        ),
        goal_policy=policy.read_bytes(),
        improvement=FittedImprovement(_prior(), Calibration(0.2, 0.8, ((0.5, 0.5, 30),))) if improves else None,
        approved=approved,
    )


def _regression(bias: float) -> LogisticRegression:
    model = LogisticRegression()
    model.coef_, model.intercept_ = WEIGHTS[np.newaxis].copy(), np.array([bias])
    model.classes_, model.n_features_in_ = np.array([0, 1]), COLUMNS
    return model


def _model(bias: float, trees: bool, tilt: float) -> DecisionModel:
    """A retrain of either kind."""
    if trees:
        return _stump(bias, tilt)
    return LogisticLayer((WEIGHTS * (1.0 + tilt))[:, np.newaxis], np.array([bias]), COLUMNS)


def _stump(bias: float, tilt: float) -> TreeSum:
    """Trees that ask for income and debts, a node each."""
    cuts = ((2, 0.3 + tilt, 1.0), (2, 0.5 + tilt, 1.5), (2, 0.7, 1.5), (3, 0.45, -1.5), (3, 0.25, -1.0))
    nodes, threshold, value = [], [], []
    for tree, (column, cut, step) in enumerate(cuts):
        nodes += [[column, 3 * tree + 1, 3 * tree + 2], [-1, -1, -1], [-1, -1, -1]]
        threshold += [cut, 0.0, 0.0]
        value += [0.0, 0.0, step]
    return TreeSum(
        np.arange(0, 3 * len(cuts), 3),
        np.array(nodes, dtype=np.int32),
        np.array(threshold, dtype=np.float32),
        np.array(value),
        bias + 0.9,
        logistic=True,
    )


def _prior() -> LabelPrior:
    one = TreeSum(
        np.array([0]),
        np.array([[4, 1, 2], [-1, -1, -1], [-1, -1, -1]], dtype=np.int32),
        np.array([0.5, 0.0, 0.0], dtype=np.float32),
        np.array([0.0, 0.2, -0.1]),
        -1.5,
        logistic=True,
    )
    weights = np.array([0.1, -0.1, 3.0, -3.5, 0.0, 0.2, -0.2, 1.2])
    return LabelPrior(Ensemble(one, np.array([0]), weights, 0.0))


def drawn_person(random: np.random.Generator) -> dict[str, Value]:
    """Draw a person."""
    return {
        "region": ("north", "south")[random.integers(2)],
        "income": int(random.integers(5, 90)),
        "debts": int(random.integers(0, 11)),
        "housing": ("rent", "own", "family")[random.integers(3)],
        "training": ("none", "school", "course", "degree")[random.integers(4)],
    }
