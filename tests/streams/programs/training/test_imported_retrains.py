"""Retrains of an imported classifier: files of ONNX beside it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onward
from onward.agents.trees import TreeSum
from onward.schemas.encoding import FeatureCodec
from onward.schemas.table import read_table
from onward.streams.cli import main
from onward.streams.errors import ModelError, UsageError
from onward.streams.programs.bundle.loader import load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.importing import import_model
from onward.tests.support.loans import write_loans

SPEC = """program: loans
features:
  - {name: income, type: integer, bounds: [10, 100]}
  - {name: debts, type: integer, bounds: [0, 9], mutable: down}
  - {name: region, type: categorical, categories: [north, south], mutable: none}
label: {name: repaid}
model: {manifest: KIND/manifest.json}
promise: {kind: retrains}
"""
TYPES = [
    ("income", FloatTensorType([None, 1])),
    ("debts", Int64TensorType([None, 1])),
    ("region", StringTensorType([None, 1])),
]
PEOPLE = [{"income": 55, "debts": 6, "region": "north"}, {"income": 40, "debts": 3, "region": "south"}]


def pipeline_file(people: Any) -> bytes:
    """A pipeline with an encoding of its own, which onnxruntime scores."""
    columns = [("numbers", StandardScaler(), ["income", "debts"]), ("texts", OneHotEncoder(), ["region"])]
    fitted = make_pipeline(ColumnTransformer(columns), LogisticRegression()).fit(people, people["repaid"])
    return bytes(convert_sklearn(fitted, initial_types=TYPES).SerializeToString())


def booster_file(X: np.ndarray, labels: np.ndarray) -> bytes:
    """Trees over encoded columns, which are flattened."""
    fitted = GradientBoostingClassifier(n_estimators=10).fit(X, labels)
    return bytes(to_onnx(fitted, X.astype(np.float32), options={"zipmap": False}).SerializeToString())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and five files of each kind; the first is the model."""
    folder = tmp_path_factory.mktemp("retrains")
    write_loans(folder / "loans.csv")
    for kind in ("pipeline", "booster"):
        (folder / f"{kind}.yaml").write_text(SPEC.replace("KIND", kind))
    people = pd.read_csv(folder / "loans.csv")
    table = read_table(folder / "loans.csv", load_program_spec(folder / "booster.yaml").spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(5):
            rows = np.random.default_rng(number).integers(0, 400, 300)
            (folder / f"pipeline-{number}.onnx").write_bytes(pipeline_file(people.iloc[rows]))
            (folder / f"booster-{number}.onnx").write_bytes(booster_file(table.X[rows], table.labels[rows]))
    return folder


def imported(folder: Path, kind: str, output: Path, retrains: list[Path]) -> None:
    loaded = load_program_spec(folder / f"{kind}.yaml")
    import_model(folder / f"{kind}-0.onnx", folder / "loans.csv", loaded, output, seed=0, retrains=retrains)


@pytest.mark.parametrize("kind", ["pipeline", "booster"])
def test_an_imported_classifier_brings_its_retrains(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / f"{kind}-{number}.onnx") for number in range(5)]
    flags = ["--spec", str(folder / f"{kind}.yaml"), "--data", str(folder / "loans.csv"), "--output"]
    retrains = ["--retrain", *files[1:3], "--retrain", *files[3:]]
    assert main(["models", "import", files[0], *flags, str(folder / kind), *retrains]) == 0
    told = " ".join(capsys.readouterr().out.split())
    # Of two models that all accept, the Clopper-Pearson bound is .05 ** .5.
    assert re.search(
        r"promise: retrains; .* at least (1?\d|2[012])% accept one \(2 were asked\); models of other", told
    )
    codec = FeatureCodec(load_program_spec(folder / f"{kind}.yaml").spec)
    bundle = load_bundle(str(folder / kind / MANIFEST), sha256=None, columns=codec.columns, codec=codec)
    assert [isinstance(model, TreeSum) for model in (bundle.model, *bundle.retrains)] == 5 * [kind == "booster"]
    rows = codec.encode_many(PEOPLE)
    assert len({model.score(rows).tobytes() for model in (bundle.model, *bundle.retrains)}) == 5
    answers = onward.load_program(folder / f"{kind}.yaml").suggest(PEOPLE)
    options = [option for answer in answers if isinstance(answer, onward.Recourse) for option in answer.options]
    assert options
    assert all(
        option.promise is not None and option.promise.keys() == {"share", "bound", "models_of_resamples"}
        for option in options
    )


def test_too_few_an_odd_number_and_equal_retrains_are_refused(folder: Path, tmp_path: Path) -> None:
    files = [folder / f"booster-{number}.onnx" for number in range(1, 5)]
    for retrains, says in (
        (
            [],
            r"booster\.yaml: the promise retrains needs retrained models, .* give an even number of files after",
        ),
        (files[:3], "--retrain: 3 retrains cannot be divided"),
        ([files[0], files[0]], r"--retrain .*booster-1\.onnx: it equals an earlier one"),
    ):
        with pytest.raises(UsageError, match=says):
            imported(folder, "booster", tmp_path / "model", retrains)


def test_a_retrain_of_another_kind_and_a_file_that_is_no_model_are_refused_by_name(
    folder: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"nothing")
    pair = [folder / "booster-1.onnx", folder / "pipeline-1.onnx"]
    with pytest.raises(ModelError, match=r"pipeline-1\.onnx: it is not a tree ensemble like the model"):
        imported(folder, "booster", tmp_path / "model", pair)
    with pytest.raises(ModelError, match=r"broken\.onnx: it is not an ONNX file"):
        imported(folder, "pipeline", tmp_path / "model", [folder / "pipeline-1.onnx", broken])
