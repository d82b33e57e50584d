"""Writes the files beside it: boosters as their libraries export them, and the probabilities that these compute.

    pip install catboost==1.2.10 lightgbm==4.7.0 onnxmltools==1.16.0 xgboost-cpu==3.2.0
    python tests/streams/programs/onnx/boosters/make.py

Most rows lie on a threshold of the trees or next to it, where a comparison of another kind or width shows. LightGBM's
thresholds are float64, which its export rounds to float32: its rows lie next to them only.
"""

from __future__ import annotations

from pathlib import Path

import catboost
import lightgbm
import numpy as np
import onnx
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

FOLDER = Path(__file__).parent
COLUMNS = 4
ROWS = 300


def main() -> None:
    """Fit, export, and write."""
    random = np.random.default_rng(0)
    X = random.random((ROWS, COLUMNS)).astype(np.float32)
    X[:, 0] = X[:, 0].round(1)
    y = (X @ [1.0, -1.0, 2.0, 0.5] + 0.3 * random.normal(size=ROWS) > 1.2).astype(int)
    types = [("x", FloatTensorType([None, COLUMNS]))]
    booster = xgboost.XGBClassifier(n_estimators=20, max_depth=3, random_state=0).fit(X, y)
    write("xgboost", booster, convert_xgboost(booster, initial_types=types), X)
    booster = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=8, verbose=-1, random_state=0).fit(X, y)
    write("lightgbm", booster, convert_lightgbm(booster, initial_types=types), X)
    booster = catboost.CatBoostClassifier(iterations=20, depth=3, verbose=0, random_state=0).fit(X, y)
    booster.save_model(str(FOLDER / "catboost.onnx"), format="onnx")
    write("catboost", booster, onnx.load(FOLDER / "catboost.onnx"), X)


def write(name: str, booster: object, model: onnx.ModelProto, X: np.ndarray) -> None:
    """Write a booster's file, and rows with their probabilities."""
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())
    attributes = {attribute.name: attribute for attribute in model.graph.node[0].attribute}
    thresholds = np.array(attributes["nodes_values"].floats, dtype=np.float32)
    features = np.array(attributes["nodes_featureids"].ints)
    inner = np.array([mode != b"LEAF" for mode in attributes["nodes_modes"].strings])
    rows = [X]
    for step in (-1, 1) if name == "lightgbm" else (-1, 0, 1):
        edges = np.resize(X, (inner.sum(), COLUMNS))
        next_to = np.nextafter(thresholds[inner], np.float32(step * np.inf)) if step else thresholds[inner]
        edges[np.arange(len(edges)), features[inner]] = next_to
        rows.append(edges)
    tested = np.concatenate(rows)
    np.savez_compressed(FOLDER / f"{name}.npz", rows=tested, probabilities=booster.predict_proba(tested)[:, 1])


if __name__ == "__main__":
    main()
