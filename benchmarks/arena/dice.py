"""DiCE's counterfactuals of rejected people. Runs in an environment of its own.

The model is Onward's compiled score of the same estimator: what takes time is DiCE. Options are the ones that it shows:
those that its search for sparser ones has changed.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
import skops.io
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Feature
from onward.schemas.specfile import load_spec
from onward.streams.programs.models.scoring import scorer

Floats = NDArray[np.float64]

LABEL = "label"
OPTIONS = 3


class Frames:
    """People as DiCE takes them: numbers and the ranks of levels as numbers, categories as texts."""

    def __init__(self, codec: FeatureCodec) -> None:
        self._codec = codec
        self.features = codec.spec.features
        self.numbers = [feature.name for feature in self.features if feature.categories is None]

    def frame(self, X: Floats) -> pd.DataFrame:
        """Encoded rows (n, D) as a frame of raw values."""
        codes = self._codec.codes(X)
        columns: dict[str, Any] = {}
        for index, feature in enumerate(self.features):
            column = codes[:, index]
            if feature.categories is not None:
                columns[feature.name] = np.array(feature.categories)[column.astype(int)]
            else:
                columns[feature.name] = column if feature.type == "continuous" else column.astype(int)
        return pd.DataFrame(columns)

    def encoded(self, frame: pd.DataFrame) -> Floats:
        """A frame as encoded rows, (n, D)."""
        X = np.zeros((len(frame), self._codec.dimension))
        for index, feature in enumerate(self.features):
            columns = np.flatnonzero(self._codec.feature_of == index)
            values = frame[feature.name].to_numpy()
            if feature.categories is not None:
                X[:, columns] = np.array(feature.categories) == values[:, np.newaxis].astype(str)
            else:
                column = columns[0]
                X[:, column] = (values.astype(float) - self._codec.low[column]) / self._codec.scale[column]
        return X


class Model:
    """The program's model behind the interface of scikit-learn."""

    def __init__(self, estimator: Any, frames: Frames, columns: int) -> None:
        self._frames, self._score = frames, scorer(estimator, columns).score
        self.classes_ = np.array([0, 1])

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """The probabilities (n, 2) of both classes."""
        score = self._score(self._frames.encoded(frame))
        return np.stack([1.0 - score, score], axis=1)

    def predict(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """The class, (n,)."""
        return (self.predict_proba(frame)[:, 1] > 0.5).astype(np.int64)


def answers(folder: Path) -> dict[str, Any]:
    """Encoded options, whose they are, and the processor seconds."""
    asked = json.loads((folder / "asked.json").read_text())
    rows, spec = np.load(folder / "rows.npz"), load_spec(Path(asked["spec"])).spec
    codec = FeatureCodec(spec)
    frames = Frames(codec)
    model_file = folder / "model.skops"
    estimator = skops.io.load(model_file, trusted=skops.io.get_untrusted_types(file=model_file))
    data = frames.frame(rows["X"]).assign(**{LABEL: rows["labels"]})
    model = dice_ml.Model(model=Model(estimator, frames, codec.dimension), backend="sklearn")
    known = dice_ml.Data(dataframe=data, continuous_features=frames.numbers, outcome_name=LABEL)
    whose, targets = [np.zeros(0, dtype=np.intp)], [np.zeros((0, codec.dimension))]
    explainer = dice_ml.Dice(known, model, method=asked["method"])
    people = frames.frame(rows["people"])
    started = time.process_time()
    for number in range(len(people)):
        with patience(asked["patience_seconds"]):
            found = frames.encoded(_options(explainer, frames, data, people.iloc[[number]], number))
            whose.append(np.full(len(found), number))
            targets.append(found)
    seconds = time.process_time() - started
    return {"whose": np.concatenate(whose), "targets": np.concatenate(targets), "seconds": seconds}


def _options(explainer: Any, frames: Frames, data: pd.DataFrame, person: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The counterfactuals of one person (1, F), at most ``OPTIONS``."""
    # Only `random` takes a seed, and that one draws from the global generators too.
    random.seed(seed)
    np.random.seed(seed)
    features = [feature for feature in frames.features if feature.mutable != "none"]
    ranges = {}
    for feature in features:
        if feature.categories is None:
            own, low, high = (float(value) for value in (person[feature.name].iloc[0], *_range(data[feature.name])))
            most = _largest_change(feature, own)
            ranges[feature.name] = [
                own if feature.mutable == "up" else max(min(low, own), own - most),
                own if feature.mutable == "down" else min(max(high, own), own + most),
            ]
    try:
        found = explainer.generate_counterfactuals(
            person,
            total_CFs=OPTIONS,
            desired_class=1,
            features_to_vary=[feature.name for feature in features],
            permitted_range=ranges,
        ).cf_examples_list[0]
    except UserConfigValidationException:  # it found none
        return person.iloc[:0]
    return person.iloc[:0] if found.final_cfs_df_sparse is None else found.final_cfs_df_sparse


def _largest_change(feature: Feature, own: float) -> float:
    """The most that a person with this value is asked to change a feature."""
    largest, share = feature.largest_change
    return largest if math.isinf(share) else share * abs(own)


def _range(column: pd.Series) -> tuple[float, float]:
    return column.min(), column.max()


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """End what takes longer: some people keep DiCE's search going without an end."""

    def ended(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        np.savez(Path(sys.argv[1]) / "answer.npz", **answers(Path(sys.argv[1])))
