"""DiCE's counterfactuals: ``make install-dice`` makes the environment that this file runs in.

The model is Onward's compiled score of the same estimator: what takes time is DiCE. Options are the ones that it shows:
those that its search for sparser ones has changed.

References
----------
Mothilal, R. K., Sharma, A. and Tan, C. (2020). Explaining Machine Learning Classifiers through Diverse Counterfactual
Explanations. FAT*.
"""

from __future__ import annotations

import math
import random
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from onward.agents.candidates.contract import Score
from onward.benchmarks.peers.contract import Floats, Setting
from onward.benchmarks.peers.serving import serve
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Feature

LABEL = "label"


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
    """The program's model behind the interface of scikit-learn; class 1 are the scores above ``required``."""

    def __init__(self, score: Score, frames: Frames) -> None:
        self._score, self._frames = score, frames
        self.required = 0.5
        self.classes_ = np.array([0, 1])

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """The probabilities (n, 2) of both classes; the second is .5 at the required score."""
        score = self._score(self._frames.encoded(frame))
        if self.required == 0.5:
            return np.stack([1.0 - score, score], axis=1)
        odds = score / (1.0 - score) * (1.0 - self.required) / self.required
        return np.stack([1.0 / (1.0 + odds), odds / (1.0 + odds)], axis=1)

    def predict(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """The class, (n,)."""
        return (self.predict_proba(frame)[:, 1] > 0.5).astype(np.int64)


class DiCE:
    """Diverse counterfactual explanations, at most ``count`` a person, by DiCE's ``method``."""

    def __init__(self, setting: Setting, method: str, count: int) -> None:
        self._frames, self._count = Frames(setting.codec), count
        self._model = Model(setting.score, self._frames)
        self._ends = list(zip(setting.lowest.tolist(), setting.highest.tolist(), strict=True))
        data = self._frames.frame(setting.rows).assign(**{LABEL: setting.labels})
        known = dice_ml.Data(dataframe=data, continuous_features=self._frames.numbers, outcome_name=LABEL)
        model = dice_ml.Model(model=self._model, backend="sklearn")
        self._explainer = dice_ml.Dice(known, model, method=method)

    def counterfactuals(self, person: Floats, required: float, seed: int) -> Floats:
        """Those that DiCE shows of a person (D,), encoded, (k, D)."""
        self._model.required = required
        # Only `random` takes a seed, and that one draws from the global generators too.
        random.seed(seed)
        np.random.seed(seed)
        row = self._frames.frame(person[np.newaxis])
        try:
            found = self._explainer.generate_counterfactuals(
                row,
                total_CFs=self._count,
                desired_class=1,
                features_to_vary=[feature.name for feature in self._frames.features if feature.may_change],
                permitted_range=self._ranges(row),
            ).cf_examples_list[0]
        except UserConfigValidationException:  # it found none
            return self._frames.encoded(row.iloc[:0])
        shown = found.final_cfs_df_sparse
        return self._frames.encoded(row.iloc[:0] if shown is None else shown)

    def _ranges(self, person: pd.DataFrame) -> dict[str, list[float]]:
        """Between which values the numbers of a person (1, F) may be."""
        ranges = {}
        for feature, (low, high) in zip(self._frames.features, self._ends, strict=True):
            if feature.categories is None and feature.may_change:
                own = float(person[feature.name].iloc[0])
                most = _largest_change(feature, own)
                ranges[feature.name] = [
                    own if feature.mutable == "up" else max(min(low, own), own - most),
                    own if feature.mutable == "down" else min(max(high, own), own + most),
                ]
        return ranges


def _largest_change(feature: Feature, own: float) -> float:
    """The most that a person with this value is asked to change a feature."""
    largest, share = feature.largest_change
    return largest if math.isinf(share) else share * abs(own)


if __name__ == "__main__":
    serve(DiCE)
