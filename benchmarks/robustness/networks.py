"""Local linear surrogates of a network, and RBR: what their targets are worth under the network and its retrains."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from onward.agents.candidates.contract import Score
from onward.agents.promises import LpBall, accepting
from onward.benchmarks.face import Row
from onward.benchmarks.robustness.baselines import Bayesian, Surrogate, gradient_surrogate, sampled_surrogate
from onward.benchmarks.robustness.baselines.surrogate import log_odds_of
from onward.benchmarks.robustness.exact import RobustLinear
from onward.benchmarks.robustness.prices import Study, box
from onward.streams.programs.models.scoring import scorer

Floats = NDArray[np.float64]

RADII = (0.0, 0.1, 0.5)
EPSILONS = (0.0, 0.5, 1.0)
"""Of RBR, for rejected and accepted samples alike: those that its authors vary."""


def networks(study: Study, retrains: int, people: int, seed: int) -> Iterator[Row]:
    """RBR's cost, the least by each surrogate with a worst-case margin of 0, and who accepts: the network, retrains."""
    X, y, random = study.data.X, study.data.y, np.random.default_rng(seed)
    half = len(X) // 2
    network = _fitted(X[:half], y[:half], seed)
    rejected = X[half:][network(X[half:]) <= 0.5][:people]
    others = []
    for number in range(retrains):
        rows = random.integers(half, len(X), size=len(X) - half)
        others.append(_fitted(X[rows], y[rows], number))
    for epsilon in EPSILONS:
        bayesian = Bayesian(network, X[:half], optimistic=epsilon, pessimistic=epsilon)
        targets = bayesian.targets(rejected, np.random.default_rng(seed))
        title = f"{study.name} network, RBR, epsilon {epsilon:g}"
        yield Row(f"{title}, cost", float(np.abs(targets - rejected).sum(axis=1).mean()), "", better="lower")
        yield from _accepted(title, network, others, targets)
    ways: dict[str, Callable[[Floats], Surrogate]] = {
        "gradient": lambda point: gradient_surrogate(network, point),
        "sampled": lambda point: sampled_surrogate(network, point, np.random.default_rng(seed)),
    }
    for name, surrogate in ways.items():
        local = [surrogate(point) for point in rejected]
        for radius in RADII:
            yield from _rows(
                f"{study.name} network, {name}, L2 radius {radius:g}", network, others, rejected, local, radius
            )


def _rows(
    title: str, network: Score, others: list[Score], people: Floats, local: list[Surrogate], radius: float
) -> Iterator[Row]:
    targets, cost, gaps = [], [], []
    for person, line in zip(people, local, strict=True):
        robust = RobustLinear(line.weights, line.bias, LpBall(radius, 2))
        answers = robust.least_cost(person[np.newaxis], box(person[np.newaxis]), 0.0)
        if answers.reached[0]:
            targets.append(answers.targets[0])
            cost.append(float(answers.cost[0]))
            gaps.append(
                float(np.abs(log_odds_of(network, answers.targets) - (answers.targets @ line.weights + line.bias))[0])
            )
    yield Row(f"{title}, served", len(targets) / len(people), "share")
    if targets:
        rows = np.array(targets)
        yield Row(f"{title}, cost", float(np.mean(cost)), "", better="lower")
        yield from _accepted(title, network, others, rows)
        yield Row(f"{title}, error of log odds at the target", float(np.median(gaps)), "", 0.0, better="lower")


def _accepted(title: str, network: Score, others: list[Score], rows: Floats) -> Iterator[Row]:
    yield Row(f"{title}, accepted by the network", float((network(rows) > 0.5).mean()), "share", 1.0)
    yield Row(f"{title}, accepted by retrains", float(accepting(rows, others, 0.5).mean()), "share", 1.0)


def _fitted(X: Floats, y: NDArray[np.int64], seed: int) -> Score:
    network = MLPClassifier((20, 20), alpha=0.01, max_iter=400, early_stopping=True, random_state=seed)
    return scorer(network.fit(X, y), X.shape[1]).score
