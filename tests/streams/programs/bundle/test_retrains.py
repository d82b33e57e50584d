"""The retrains of a bundle: written and loaded with the same scores, and refused when they are damaged."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec import UNSET, UnsetType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from onward.agents.promises import clopper_pearson
from onward.agents.scores import LinearScore
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import ProgramSpec, PromiseTerms
from onward.streams.errors import ModelError
from onward.streams.programs.bundle import model_files
from onward.streams.programs.bundle.loader import ModelBundle, load_bundle
from onward.streams.programs.bundle.manifest import MANIFEST, PromiseCalibration
from onward.streams.programs.bundle.retrains import dump_retrains, load_retrains, retrain_of
from onward.streams.programs.bundle.writer import write_bundle
from onward.streams.programs.models.scoring import DecisionModel
from onward.streams.programs.promised import promise_of
from onward.testing.program import FEATURES

COLUMNS = 4
RANDOM = np.random.default_rng(3)
X = RANDOM.random((240, COLUMNS))
Y = (X[:, 0] + 0.2 * RANDOM.normal(size=240) > X[:, 1]).astype(int)
ROWS = RANDOM.random((100, COLUMNS))
SPEC = msgspec.convert(
    {
        "program": "loan",
        "features": FEATURES,
        "label": {"name": "repaid"},
        "model": {"manifest": "model/manifest.json"},
        "promise": {"kind": "lp"},
    },
    ProgramSpec,
    strict=False,
)
CODEC = FeatureCodec(SPEC)
KINDS = {
    "logistic regression": LogisticRegression(),
    "network": MLPClassifier((7, 3), max_iter=5),
    "network of tanh": MLPClassifier((5,), activation="tanh", max_iter=5),
    "forest": RandomForestClassifier(5),
    "extra trees": ExtraTreesClassifier(4),
    "boosting": GradientBoostingClassifier(n_estimators=5),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=5),
    "calibrated regression": CalibratedClassifierCV(LogisticRegression(), method="sigmoid", ensemble=False),
    "calibrated forest": CalibratedClassifierCV(RandomForestClassifier(3), method="sigmoid", ensemble=False),
}


def retrains(estimator: Any, count: int = 4) -> list[DecisionModel]:
    """Models of other rows each."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that has not converged is as good for this
        for part in range(count):
            rows = np.arange(240) % count != part
            found.append(retrain_of(estimator.fit(X[rows], Y[rows]), COLUMNS))
    return found


LINES = retrains(LogisticRegression())
FOREST = retrains(RandomForestClassifier(5))


def arrays(models: list[DecisionModel]) -> dict[str, Any]:
    with np.load(io.BytesIO(dump_retrains(models))) as file:
        return {name: file[name] for name in file.files}


def packed(**changed: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **changed)
    return file.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_retrains_come_back_with_the_same_scores_bit_for_bit(kind: str) -> None:
    models = retrains(KINDS[kind])
    content = dump_retrains(models)
    loaded = load_retrains(content, COLUMNS)
    assert [model.score(ROWS).tobytes() for model in loaded] == [model.score(ROWS).tobytes() for model in models]
    assert [isinstance(model.score, LinearScore) for model in loaded] == 4 * [kind.endswith("regression")]
    assert dump_retrains(loaded) == content


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ([*LINES, *FOREST], "of the kinds LogisticLayer, TreeSum"),
        ([*LINES, *retrains(MLPClassifier((3,), max_iter=3))], "layers of different shapes"),
        ([*FOREST, *retrains(HistGradientBoostingClassifier(max_iter=2))], "trees of different kinds"),
    ],
)
def test_retrains_of_different_kinds_are_not_written(models: list[DecisionModel], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dump_retrains(models)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (packed(**arrays(LINES) | {"weights_0": np.full((4, COLUMNS, 1), np.nan)}), "are not finite"),
        (packed(**arrays(LINES) | {"weights_0": np.zeros((4, COLUMNS + 1, 1))}), "are not finite numbers of shape"),
        (packed(**arrays(LINES) | {"bias_0": np.zeros((3, 1))}), "different numbers of retrains"),
        (packed(**arrays(LINES) | {"activation": np.array(3.0)}), "no layers with their activation"),
        (packed(**arrays(LINES) | {"activation": np.array([{}], dtype=object)}), "Object arrays cannot be loaded"),
        (packed(activation=np.array("relu")), "no layers"),
        (packed(**arrays(FOREST) | {"first_node": np.array([0, 5, 4, 9, 12])}), "one after the other"),
        (packed(**arrays(FOREST) | {"value": np.zeros(3)}), "different lengths"),
        (packed(**arrays(FOREST) | {"nodes": arrays(FOREST)["nodes"][:, ::-1]}), "child does not come after"),
        (packed(**arrays(FOREST) | {"base": np.zeros(4, dtype=np.float32)}), "array base is of float32"),
        (packed(nodes=arrays(FOREST)["nodes"]), "array first_root is missing"),
        (packed(content=np.zeros(4, dtype=np.uint8)), "array first_byte is missing"),
        (dump_retrains(LINES[:1]), "holds 1 retrains, a promise needs at least 2"),
        (b"no zip", "not a zip file"),
    ],
)
def test_a_file_that_holds_no_retrains_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(Exception, match=says):
        load_retrains(content, COLUMNS)


def written(folder: Path, models: list[DecisionModel], **more: Any) -> Path:
    estimator = LogisticRegression().fit(X, Y)
    rows = [{"region": "north", "income": 50.0, "debts": 1}]
    facts = {"version": "v1", "estimator": estimator, "instances": rows, "reference": rows}
    write_bundle(folder, SPEC, CODEC.columns, **facts, retrains=models, **more)
    return folder


def load(folder: Path) -> ModelBundle:
    return load_bundle(str(folder / MANIFEST), sha256=None, columns=CODEC.columns, codec=CODEC)


def test_a_bundle_holds_its_retrains(tmp_path: Path) -> None:
    bundle = load(written(tmp_path / "model", LINES))
    assert [each.score(ROWS).tobytes() for each in bundle.retrains] == [each.score(ROWS).tobytes() for each in LINES]
    assert promise_of(SPEC, bundle).guarantee(np.ones(COLUMNS), bundle.model.score, 0.5).keys() == {
        "radius",
        "margin",
        "alpha_max",
    }


def test_a_bundle_without_retrains_cannot_carry_a_promise_that_needs_them(tmp_path: Path) -> None:
    bundle = load(written(tmp_path / "model", []))
    assert bundle.retrains == ()
    with pytest.raises(ValueError, match=r"model v1 has no retrains, .* `onward train --retrains 40`"):
        promise_of(SPEC, bundle)


RETRAINS = msgspec.structs.replace(SPEC, promise=PromiseTerms("retrains"))
MEASURED = PromiseCalibration("other", 40, 0.05, 0.0, (0.1, 0.4, 0.8), (0.0, 0.1, 0.3))


def guaranteed(folder: Path, measured: PromiseCalibration | UnsetType, **terms: float) -> Any:
    """What is stated of an option that both certifying retrains of a bundle accept."""
    bundle = load(written(folder, LINES, promise_calibration=measured))
    promise = msgspec.structs.replace(RETRAINS.promise, **terms)
    spec = msgspec.structs.replace(RETRAINS, promise=promise)
    return promise_of(spec, bundle).guarantee(np.array([1.0, 0.0, 0.5, 0.5]), bundle.model.score, 0.5)


def test_the_stated_share_is_the_one_that_was_measured_on_rows_kept_aside(tmp_path: Path) -> None:
    assert guaranteed(tmp_path / "model", MEASURED) == {"share": 0.8, "bound": 0.3, "models_of_other_rows": 40.0}


@pytest.mark.parametrize(
    ("measured", "terms"),
    [
        (UNSET, {}),
        (MEASURED, {"quantile": 0.1}),
        (MEASURED, {"margin": 0.1}),
        (msgspec.structs.replace(MEASURED, kind="another"), {}),
        (msgspec.structs.replace(MEASURED, parameters={"most": 1.0}), {}),
    ],
)
def test_where_nothing_was_measured_on_these_terms_the_retrains_speak_for_their_own_rows(
    tmp_path: Path, measured: PromiseCalibration | UnsetType, terms: dict[str, float]
) -> None:
    """Bundles of earlier versions hold no measurement: they say what they said."""
    folder = tmp_path / "model"
    assert guaranteed(folder, measured, **terms) == {
        "share": 1.0,
        "bound": clopper_pearson(2, 2),
        "models_of_resamples": 2.0,
    }
    assert ("promise_calibration" in (folder / MANIFEST).read_text()) == (measured is not UNSET)


def test_a_measurement_of_another_number_of_retrains_is_refused(tmp_path: Path) -> None:
    measured = msgspec.structs.replace(MEASURED, shares=(0.1, 0.8))
    with pytest.raises(ValueError, match="the calibration is not of the 2 certifying retrains: give 3 shares"):
        guaranteed(tmp_path / "model", measured)


def test_missing_and_damaged_retrains_are_refused_in_one_line(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", LINES)
    file = folder / "retrains.npz"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"x")
    with pytest.raises(ModelError, match=r"sha256 of file retrains\.npz is not"):
        load(folder)
    file.write_bytes(content[:-1])
    with pytest.raises(ModelError, match=r"file retrains\.npz has fewer bytes"):
        load(folder)
    file.unlink()
    with pytest.raises(ModelError, match=r"file retrains\.npz is missing"):
        load(folder)
    other = dump_retrains(LINES[:1])
    file.write_bytes(other)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest["retrains"] |= {"size": len(other), "sha256": hashlib.sha256(other).hexdigest()}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"file retrains\.npz is refused: it holds 1 retrains"):
        load(folder)


def test_retrains_may_not_unpack_to_more_than_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "LARGEST_UNPACKED_BYTES", 100)
    with pytest.raises(ValueError, match="the limit is 100"):
        load_retrains(dump_retrains(LINES), COLUMNS)
