"""How long robust recourse takes, beside a conic solver and the baselines, and how many options are revalidated."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.agents.promises import LpBall
from onward.benchmarks.face import Row
from onward.benchmarks.robustness.baselines import Algorithm1, Algorithm2, Roar
from onward.benchmarks.robustness.exact import RobustLinear, Rules
from onward.benchmarks.robustness.open_options import OpenOptions, accepted

Floats = NDArray[np.float64]

AIM_PERSONS = {7: 20_000.0, 28: 10_000.0}
AIM_OPTIONS = 5e6
PEOPLE_ON_A_GRID = 100
AIM_ONE_MS = 1.0
RADIUS, TRADE = 0.1, 0.1
SHOWN = {1.0: "1", 2.0: "2", math.inf: "inf"}


def speed(people: int, options: int, seed: int) -> Iterator[Row]:
    """Processor times of one core."""
    random = np.random.default_rng(seed)
    for d in AIM_PERSONS:
        weights, rows = random.normal(size=d), random.normal(size=(people, d))
        bias = -1.0 - float((rows @ weights).max())
        boxed = Rules(rows - random.exponential(1.5, rows.shape), rows + random.exponential(1.5, rows.shape))
        for p, name in SHOWN.items():
            robust = RobustLinear(weights, bias, LpBall(RADIUS, p))
            yield from _persons(robust, rows, boxed, f"d={d} p={name}", AIM_PERSONS[d])
    yield from _one_person(random)
    yield from _discrete(min(people, PEOPLE_ON_A_GRID), random)
    yield from _beside(random)
    yield from _revalidated(options, random)


def _persons(robust: RobustLinear, rows: Floats, rules: Rules, title: str, aim: float) -> Iterator[Row]:
    """Persons a second in a batch, in both forms, and one person at a time."""
    anywhere = Rules(np.full(1, -np.inf), np.full(1, np.inf))
    forms: dict[str, Callable[[], object]] = {
        "price": lambda: robust.price(rows, anywhere, TRADE),
        "price with bounds": lambda: robust.price(rows, rules, TRADE),
        "least cost with bounds": lambda: robust.least_cost(rows, rules, 0.0),
    }
    robust.price(rows[:2], anywhere, TRADE)
    robust.least_cost(rows[:2], Rules(rows[:2], rows[:2]), 0.0)  # compiles
    for name, solve in forms.items():
        yield Row(f"{title}, {name}", len(rows) / seconds(solve), "persons/s", None, aim)


def _one_person(random: np.random.Generator) -> Iterator[Row]:
    """A call for one person at d = 30."""
    weights, row = random.normal(size=30), random.normal(size=(1, 30))
    anywhere = Rules(np.full(1, -np.inf), np.full(1, np.inf))
    for p, name in SHOWN.items():
        robust = RobustLinear(weights, -float(row[0] @ weights) - 2.0, LpBall(RADIUS, p))

        def solve(robust: RobustLinear = robust) -> object:
            return [robust.price(row, anywhere, TRADE) for _ in range(200)]

        yield Row(
            f"d=30 p={name}, one call for one person", seconds(solve) / 200 * 1e3, "ms", None, AIM_ONE_MS, "lower"
        )


def _discrete(people: int, random: np.random.Generator) -> Iterator[Row]:
    """A person with steps of .05 in four columns and a one-hot group of three."""
    weights = random.normal(0, 2, 7)
    rows = np.hstack([random.integers(0, 21, (people, 4)) / 20, np.eye(3)[random.integers(3, size=people)]])
    rules = Rules(np.zeros(7), np.ones(7), np.append(np.full(4, 0.05), np.zeros(3)), (np.arange(4, 7),))
    for p, name in SHOWN.items():
        robust = RobustLinear(weights, -1.0 - float(np.median(rows @ weights)), LpBall(RADIUS, p))
        taken = seconds(partial(robust.least_cost, rows, rules, 0.0)) / people * 1e3
        yield Row(f"d=7 p={name}, least cost with steps and a group", taken, "ms a person", better="lower")


def _beside(random: np.random.Generator) -> Iterator[Row]:
    """A person's price at d = 7 by others, beside ours."""
    weights, rows = random.normal(0, 0.5, 7), random.normal(size=(4, 7))
    bias = -1.0 - float((rows @ weights).max())
    anywhere = Rules(np.full(1, -np.inf), np.full(1, np.inf))
    for p, methods in {
        1.0: {
            "Algorithm 1": Algorithm1(weights, bias, RADIUS).price,
            "ROAR": Roar(weights, bias, LpBall(RADIUS, 1.0)).price,
        },
        math.inf: {
            "Algorithm 2": Algorithm2(weights, bias, RADIUS).price,
            "ROAR": Roar(weights, bias, LpBall(RADIUS, math.inf)).price,
        },
    }.items():
        robust = RobustLinear(weights, bias, LpBall(RADIUS, p))
        many = np.repeat(rows, 200, axis=0)
        own = seconds(partial(robust.price, many, anywhere, TRADE)) / len(many) * 1e3
        for name, price in methods.items():
            taken = seconds(partial(price, rows, TRADE)) / len(rows) * 1e3
            yield Row(f"d=7 p={SHOWN[p]}, a person by {name}", taken, "ms", own, better="lower")
        conic = _conic(weights, bias, rows, robust.ball)
        if conic is not None:
            yield Row(f"d=7 p={SHOWN[p]}, a person by cvxpy", conic, "ms", own, better="lower")


def _conic(weights: Floats, bias: float, rows: Floats, ball: LpBall) -> float | None:
    """Milliseconds of a conic solver for a person, None where there is none."""
    try:
        cp: Any = import_module("cvxpy")
    except ModuleNotFoundError:
        return None
    x, own = cp.Variable(len(weights)), cp.Parameter(len(weights))
    z = weights @ x + bias - ball.radius * cp.norm(cp.hstack([x, [1.0]]), ball.q)
    problem = cp.Problem(cp.Minimize(cp.logistic(-z) + TRADE * cp.norm1(x - own)))

    def solve() -> None:
        for row in rows:
            own.value = row
            problem.solve(solver=cp.CLARABEL)

    return seconds(solve) / len(rows) * 1e3


def _revalidated(count: int, random: np.random.Generator) -> Iterator[Row]:
    """Options that are held against a new model in a second, at d = 28."""
    points, weights = random.normal(size=(count, 28)), random.normal(size=28)
    ball = LpBall(RADIUS, 2)
    bias = 1.0
    yield Row(
        "options scored again at d=28",
        count / seconds(lambda: accepted(points, weights, bias)),
        "1/s",
        None,
        AIM_OPTIONS,
    )
    kept = points[accepted(points, weights, bias)]
    options = OpenOptions(kept, ball, weights, bias)
    new = weights + 0.5 * RADIUS * random.normal(size=28) / math.sqrt(28)
    asked = options.uncertain(new, bias) / len(kept)
    taken = seconds(lambda: options.broken(new, bias))
    yield Row("options revalidated with the screen at d=28", len(kept) / taken, "1/s", None, AIM_OPTIONS)
    yield Row("share of them that the screen leaves to be scored", asked, "share", better="lower")


def seconds(solve: Callable[[], object]) -> float:
    """The processor seconds of a call, the least of three."""
    solve()
    times = []
    for _ in range(3):
        started = time.process_time()
        solve()
        times.append(time.process_time() - started)
    return max(min(times), 1e-9)
