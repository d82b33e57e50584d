"""Random problems with the optimum of a conic solver: how far above it ours is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.agents.promises import LpBall
from onward.benchmarks.face import Row
from onward.benchmarks.robustness.exact import RobustLinear, Rules
from onward.streams.errors import UsageError

Floats = NDArray[np.float64]

AIM = 1e-9
NEEDED = ("d", "w", "x0", "cost", "lo", "hi", "b", "alpha", "lam", "p", "c0", "J_opt")


def load(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file of instances; raise ``UsageError`` for a file that is none."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            found = {name: stored[name] for name in NEEDED}
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"--instances {file}: {error}") from error
    return found


def excess_rows(stored: dict[str, NDArray[Any]]) -> Iterator[Row]:
    """The largest excess of our objective over the solver's, by norm."""
    excess = np.array([excess_of(stored, k) for k in range(len(stored["d"]))])
    for p, name in ((1.0, "1"), (2.0, "2"), (math.inf, "inf")):
        own = excess[stored["p"] == p]
        if len(own):
            yield Row(f"largest excess over the optimum p={name}", float(own.max()), "", 0.0, AIM, "lower")


def excess_of(stored: dict[str, NDArray[Any]], k: int) -> float:
    """The objective at our point, evaluated here, less the solver's; infinite outside the bounds."""
    d = int(stored["d"][k])
    w, own, cost, low, high = (stored[name][k, :d] for name in ("w", "x0", "cost", "lo", "hi"))
    b, alpha, trade, p, floor = (float(stored[name][k]) for name in ("b", "alpha", "lam", "p", "c0"))
    ball = LpBall(alpha, p, intercept=floor == 1.0)
    x = RobustLinear(w, b, ball, cost).price(own[np.newaxis], Rules(low, high), trade).targets[0]
    if not ((x >= low) & (x <= high)).all():
        return math.inf
    return price_at(x, own, w, b, cost, alpha, ball.q, floor, trade) - float(stored["J_opt"][k])


def price_at(
    x: Floats, own: Floats, w: Floats, b: float, cost: Floats, alpha: float, q: float, floor: float, trade: float
) -> float:
    """The worst-case price of a point, by its formula alone."""
    z = float(w @ x) + b - alpha * float(np.linalg.norm(np.append(x, floor), q))
    return float(np.logaddexp(0.0, -z)) + trade * float(cost @ np.abs(x - own))
