"""Radii measured by bootstrap: what each kind of set costs, and how many later retrains accept its options."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from onward.agents.promises import Ellipsoid, LpBall, drift_ellipsoid, drift_radius
from onward.benchmarks.face import Row, progress
from onward.benchmarks.robustness.exact import Answers, RobustEllipsoid, RobustLinear
from onward.benchmarks.robustness.prices import Study, box
from onward.streams.programs.models.scoring import LogisticScore

Floats = NDArray[np.float64]

SHARE = 0.95
KINDS = ("L1", "L2", "Linf", "ellipsoid")
NORM = {"L1": 1.0, "L2": 2.0, "Linf": math.inf}
STEPS = 12
"""Halvings of the interval in which the radius of equal validity is searched."""


class Retrains(NamedTuple):
    """Parameters of B models of bootstrap resamples, (B, D) and (B,)."""

    weights: Floats
    bias: Floats

    def accepting(self, targets: Floats) -> Floats:
        """The share of the models that accept each target, (n,)."""
        return np.asarray((targets @ self.weights.T + self.bias > 0).mean(axis=1))


class Setting(NamedTuple):
    """A model, the people it turns down, and its retrains: for measuring, and held out."""

    score: LogisticScore
    people: Floats
    measured: Retrains
    held_out: Retrains


def settings(study: Study, count: int, seed: int) -> list[Setting]:
    """A setting for each fold: retrains are models of resamples of the rows that the fold's model was trained on."""
    found, rows = [], len(study.data.X)
    random = np.random.default_rng(seed)
    for number, fold in enumerate(study.folds):
        held = slice(int(number / len(study.folds) * rows), int((number + 1) / len(study.folds) * rows))
        own = np.delete(np.arange(rows), held)
        parts = []
        for _ in range(2):
            models = [resampled(study.data.X[own], study.data.y[own], random) for _ in range(count)]
            parts.append(Retrains(np.array([m.coef_[0] for m in models]), np.array([m.intercept_[0] for m in models])))
        found.append(Setting(LogisticScore(fold.weights, fold.bias), fold.people, *parts))
    return found


def resampled(X: Floats, y: NDArray[np.int64], random: np.random.Generator) -> LogisticRegression:
    """A logistic regression of a bootstrap resample."""
    rows = random.integers(len(X), size=len(X))
    return LogisticRegression().fit(X[rows], y[rows])


def cheapest(setting: Setting, kind: str, scale: float = 1.0) -> Answers:
    """The least cost under the set that holds 95 % of the measured retrains, its radius times ``scale``."""
    score, (weights, bias) = setting.score, setting.measured
    if kind == "ellipsoid":
        models = drift_ellipsoid(score, weights, bias, SHARE)
        wider = Ellipsoid(models.covariance, scale * models.radius)
        return RobustEllipsoid(score.weights, score.bias, wider).least_cost(setting.people, box(setting.people), 0.0)
    radius = scale * drift_radius(score, weights, bias, NORM[kind], SHARE)
    robust = RobustLinear(score.weights, score.bias, LpBall(radius, NORM[kind]))
    return robust.least_cost(setting.people, box(setting.people), 0.0)


def outcome(cases: list[Setting], found: list[Answers], held_out: bool = True) -> tuple[float, float, float]:
    """The mean cost and validity of everybody who is served, and their share."""
    cost, valid, people = [], [], 0
    for case, answers in zip(cases, found, strict=True):
        served = answers.reached
        models = case.held_out if held_out else case.measured
        cost.append(answers.cost[served])
        valid.append(models.accepting(answers.targets[served]))
        people += len(served)
    costs = np.concatenate(cost)
    if not len(costs):
        return math.nan, math.nan, 0.0
    return float(costs.mean()), float(np.concatenate(valid).mean()), len(costs) / people


def equally_valid(cases: list[Setting], kind: str) -> list[Answers]:
    """The answers at the smallest scale of the radius at which 95 % of the measured retrains accept."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        valid = outcome(cases, [cheapest(case, kind, middle) for case in cases], held_out=False)[1]
        low, high = (low, middle) if valid >= SHARE else (middle, high)
    return [cheapest(case, kind, high) for case in cases]


def calibration(study: Study, count: int, seed: int) -> Iterator[Row]:
    """Costs and validities on held-out retrains: radii at the 95 % quantile of drift, then all at equal validity."""
    cases = settings(study, count, seed)
    way: dict[str, Callable[[str], list[Answers]]] = {
        "95 % of drifts": lambda kind: [cheapest(case, kind) for case in cases],
        "95 % valid": lambda kind: equally_valid(cases, kind),
    }
    for name, solve in way.items():
        found = {kind: outcome(cases, solve(kind)) for kind in KINDS}
        progress(f"{study.name}, {name}: {found}")
        dearest = min(found["L1"][0], found["Linf"][0])
        for kind, (cost, valid, served) in found.items():
            title = f"{study.name}, {kind} at {name}"
            calibrated = kind == "L2" and name == "95 % of drifts"
            yield Row(
                f"{title}, cost",
                cost,
                "",
                None if kind == "L2" else found["L2"][0],
                dearest if calibrated else None,
                "lower",
            )
            yield Row(f"{title}, valid", valid, "share", None, SHARE if calibrated else None)
            yield Row(f"{title}, served", served, "share")
