"""How far estimates of another policy can be trusted: simulated logs whose truth is known.

    python -m onward.benchmarks.evaluation

The log's policy explores a share of the steps among as many candidates as are feasible, and agrees else with the
evaluated one at a share of the steps. Rewards are 0 or 1; what is expected of them is half, whoever it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from onward.agents.evaluation import Estimate, Log, evaluate

ESTIMATES = ("ips", "snips", "doubly_robust")
AGREEING = (0.0, 0.5, 0.9)
STEPS = (1_000, 3_000, 10_000, 30_000, 100_000)


class Row(NamedTuple):
    """Of many logs: the share that gives an estimate, how many of the 95 % intervals then hold the truth, and half
    their width."""

    agreeing: float
    steps: int
    given: float
    held: dict[str, float]
    half_width: dict[str, float]


def simulated(generator: np.random.Generator, steps: int, feasible: int, exploration: float, agreeing: float) -> Log:
    """One log. The evaluated policy's chance of a reward is 1/2 on average."""
    even = exploration / feasible
    wanted = np.where(generator.random(steps) < agreeing, 1.0 - exploration + even, even)
    matched = generator.random(steps) < wanted
    # What the evaluated policy does not want weighs nothing, so its probabilities are not told apart.
    propensity = np.where(matched, wanted, 1.0 - wanted)
    reward = generator.random(steps) < 0.2 + 0.6 * generator.random(steps)
    half = np.full(steps, 0.5)
    return Log(reward.astype(np.float64), propensity, matched.astype(np.float64), half, half)


def rows(logs: int, feasible: int, exploration: float, seed: int = 0) -> Iterator[Row]:
    """Every setting, ``logs`` times."""
    generator = np.random.default_rng(seed)
    for agreeing in AGREEING:
        for steps in STEPS:
            some = [evaluate(simulated(generator, steps, feasible, exploration, agreeing)) for _ in range(logs)]
            found = [evaluation for evaluation in some if evaluation.doubt is None]
            held, width = {}, {}
            for name in ESTIMATES if found else ():
                estimates: list[Estimate] = [getattr(evaluation, name) for evaluation in found]
                held[name] = float(np.mean([estimate.low <= 0.5 <= estimate.high for estimate in estimates]))
                width[name] = float(np.mean([estimate.high - estimate.value for estimate in estimates]))
            yield Row(agreeing, steps, len(found) / logs, held, width)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=400, help="simulated logs a row")
    parser.add_argument("--feasible", type=int, default=30, help="candidates to explore among")
    parser.add_argument("--exploration", type=float, default=0.1, help="share of the steps that explore")
    given = parser.parse_args()
    table = Table("agreeing", "steps", "estimate given", *(f"{name}: held, half width" for name in ESTIMATES))
    for row in rows(given.logs, given.feasible, given.exploration):
        cells = (f"{row.held[name]:.3f}, {row.half_width[name]:.3f}" if row.held else "-" for name in ESTIMATES)
        table.add_row(f"{row.agreeing:g}", f"{row.steps:,}", f"{row.given:.2f}", *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
