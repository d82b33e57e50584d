"""The people and the model of a competition: drawn from a seed, or loaded from a file of frozen worlds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from ...agents.arrays import Array
from ...agents.sigmoid import LARGEST_ODDS, bounded_sigmoid

LABEL_NOISE, LABEL_THRESHOLD = 0.05, 0.5
LOWEST_WEIGHT = 0.1
MEANS, DEVIATIONS = (0.3, 0.7), (0.05, 0.2)


@dataclass
class WorldScore:
    """The score sigmoid(weights . x + bias)."""

    weights: Array
    bias: float

    def __call__(self, X: Array, /) -> Array:
        """The scores (n,) of encoded rows (n, D)."""
        return np.asarray(bounded_sigmoid(X @ self.weights + self.bias, LARGEST_ODDS))


@dataclass(frozen=True)
class CompetitionPeople:
    """Normal raw features, their scaling to [0, 1], and a logistic model of the scaled ones.

    An applicant: raw ~ N(mean, deviation) for each feature, x = clip((raw - low) / (high - low), 0, 1). The model's
    score is M(x) = sigmoid(coef . x + intercept). All arrays have the shape (D,). The features of
    applicants are rounded to ``decimals``, as people would state them, where it is given.
    """

    mean: Array
    deviation: Array
    low: Array
    high: Array
    coef: Array
    intercept: float
    decimals: int | None = None

    def people(self, generator: np.random.Generator, shape: tuple[int, ...], shift: float = 0.0) -> Array:
        """New applicants, (\\*shape, D), whose features are better by ``shift`` standard deviations.

        A feature is better on the side to which the model's weight points.
        """
        mean = self.mean + shift * np.sign(self.coef) * self.deviation
        raw = generator.normal(mean, self.deviation, (*shape, len(self.mean)))
        scaled: Array = np.clip((raw - self.low) / (self.high - self.low), 0.0, 1.0)
        return scaled if self.decimals is None else scaled.round(self.decimals)

    def score(self, people: Array) -> Array:
        """The model's scores (n,) of people (n, D)."""
        return self.linear(people)

    @property
    def estimator(self) -> LogisticRegression:
        """The model as a fitted estimator."""
        estimator = LogisticRegression()
        estimator.classes_ = np.array([0, 1])
        estimator.coef_, estimator.intercept_ = self.coef[np.newaxis], np.array([self.intercept])
        estimator.n_features_in_ = len(self.coef)
        estimator.n_iter_ = np.array([0], dtype=np.int32)
        return estimator

    @property
    def linear(self) -> WorldScore:
        """The model's score, as recommenders want it."""
        return WorldScore(self.coef, self.intercept)


def load_worlds(file: Path) -> list[CompetitionPeople]:
    """The frozen worlds of a file with the arrays mu, sd, lo, hi, coef (W, D) and intercept (W,).

    Raise ``ValueError`` when an array is missing, or has another shape.
    """
    names = ("mu", "sd", "lo", "hi", "coef", "intercept")
    with np.load(file) as stored:
        missing = [name for name in names if name not in stored]
        if missing:
            raise ValueError(f"{file} has no array {missing[0]!r}: a file of worlds has {', '.join(names)}")
        arrays = [np.asarray(stored[name], dtype=np.float64) for name in names]
    shape = arrays[0].shape
    if len(shape) != 2 or [array.shape for array in arrays] != [shape] * 5 + [shape[:1]]:
        raise ValueError(f"{file}: mu, sd, lo, hi, coef must have one shape (worlds, features), intercept (worlds,)")
    mean, deviation, low, high, coef, intercept = arrays
    return [
        CompetitionPeople(mean[i], deviation[i], low[i], high[i], coef[i], float(intercept[i]))
        for i in range(len(mean))
    ]


def draw_world(seed: int, *, features: int = 10, rows: int = 10_000) -> CompetitionPeople:
    """Draw a world: the features' means and standard deviations, training rows and their labels, and a fitted model.

    The paper prints neither the ranges of means and deviations, nor the scaling (here by the smallest and largest
    training row), nor the regularisation (scikit-learn's C).
    """
    generator = np.random.default_rng(seed)
    mean, deviation = generator.uniform(*MEANS, features), generator.uniform(*DEVIATIONS, features)
    raw = generator.normal(mean, deviation, (rows, features))
    low, high = raw.min(axis=0), raw.max(axis=0)
    X = (raw - low) / (high - low)
    weights = generator.uniform(LOWEST_WEIGHT, 1.0, features)
    weights /= weights.sum()
    labels = X @ weights + generator.normal(0.0, LABEL_NOISE, rows) > LABEL_THRESHOLD
    model = LogisticRegression(max_iter=1000).fit(X, labels)
    return CompetitionPeople(mean, deviation, low, high, model.coef_[0], float(model.intercept_[0]))
