"""How far estimates of another policy can be trusted: simulated logs whose truth is known.

    python -m onward.benchmarks.evaluation

The log's policy explores a share of the steps among as many candidates as are feasible, and agrees else with the
evaluated one at a share of the steps. Rewards are 0 or 1, of the same mean whatever is suggested, half in the first
table; that mean is what is expected of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from onward.agents.evaluation import Estimate, Log, evaluate
from onward.agents.evaluation.estimators import snips
from onward.streams.cli.flags import CommandParser
from onward.streams.errors import UsageError

ESTIMATES = ("ips", "snips", "doubly_robust")
AGREEING = (0.0, 0.5, 0.9)
STEPS = (1_000, 3_000, 10_000, 30_000, 100_000)
HALF = 0.5
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
RATES_STEPS = 30_000


class Row(NamedTuple):
    """Of many logs of some steps and mean reward: the share that gives an estimate, how many of the 95 % intervals then
    hold the truth, and half their width; and how many intervals of SNIPS would if all were given."""

    agreeing: float
    steps: int
    rate: float
    given: float
    held: dict[str, float]
    half_width: dict[str, float]
    held_of_all: float


def simulated(
    generator: np.random.Generator, steps: int, feasible: int, exploration: float, agreeing: float, rate: float = HALF
) -> Log:
    """One log. Everybody's chance of a reward is ``rate`` on average."""
    even = exploration / feasible
    wanted = np.where(generator.random(steps) < agreeing, 1.0 - exploration + even, even)
    matched = generator.random(steps) < wanted
    # What the evaluated policy does not want weighs nothing, so its probabilities are not told apart.
    propensity = np.where(matched, wanted, 1.0 - wanted)
    reward = generator.random(steps) < rate * (0.4 + 1.2 * generator.random(steps))
    expected = np.full(steps, rate)
    return Log(reward.astype(np.float64), propensity, matched.astype(np.float64), expected, expected)


def rows(logs: int, feasible: int, exploration: float, seed: int = 0) -> Iterator[Row]:
    """Every length of log, ``logs`` times."""
    generator = np.random.default_rng(seed)
    for agreeing in AGREEING:
        for steps in STEPS:
            yield _row(generator, logs, steps, feasible, exploration, agreeing, HALF)


def rare(logs: int, feasible: int, exploration: float, seed: int = 0) -> Iterator[Row]:
    """Every mean reward, ``logs`` times."""
    generator = np.random.default_rng(seed)
    for agreeing in AGREEING:
        for rate in RATES:
            yield _row(generator, logs, RATES_STEPS, feasible, exploration, agreeing, rate)


def _row(
    generator: np.random.Generator,
    logs: int,
    steps: int,
    feasible: int,
    exploration: float,
    agreeing: float,
    rate: float,
) -> Row:
    some = [simulated(generator, steps, feasible, exploration, agreeing, rate) for _ in range(logs)]
    found = [evaluation for log in some if (evaluation := evaluate(log)).doubt is None]
    held, width = {}, {}
    for name in ESTIMATES if found else ():
        estimates: list[Estimate] = [getattr(evaluation, name) for evaluation in found]
        held[name] = _share_held(estimates, rate)
        width[name] = float(np.mean([estimate.high - estimate.value for estimate in estimates]))
    weighed = [(log.target / log.propensity, log.reward) for log in some if log.target.any()]
    held_of_all = _share_held([snips(weight, reward) for weight, reward in weighed], rate)
    return Row(agreeing, steps, rate, len(found) / logs, held, width, held_of_all)


def _share_held(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]))


def main(argv: Sequence[str] | None = None) -> int:
    """Print two tables; what is wrong with the command line is one line, and its exit code."""
    try:
        given = _parse(argv)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    _print(given)
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(
        prog="python -m onward.benchmarks.evaluation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--logs", type=int, default=400, help="simulated logs a row")
    parser.add_argument("--feasible", type=int, default=30, help="candidates to explore among")
    parser.add_argument("--exploration", type=float, default=0.1, help="share of the steps that explore")
    return parser.parse_args(argv)


def _print(given: argparse.Namespace) -> None:
    console = Console()
    columns = ("estimate given", *(f"{name}: held, half width" for name in ESTIMATES))
    table = Table("agreeing", "steps", *columns)
    for row in rows(given.logs, given.feasible, given.exploration):
        table.add_row(f"{row.agreeing:g}", f"{row.steps:,}", *_cells(row))
    console.print(table)
    table = Table("agreeing", "mean reward", *columns, "snips held, of all", title=f"{RATES_STEPS:,} steps")
    for row in rare(given.logs, given.feasible, given.exploration):
        table.add_row(f"{row.agreeing:g}", f"{row.rate:g}", *_cells(row), f"{row.held_of_all:.3f}")
    console.print(table)


def _cells(row: Row) -> Iterator[str]:
    yield f"{row.given:.2f}"
    for name in ESTIMATES:
        yield f"{row.held[name]:.3f}, {row.half_width[name]:.3f}" if row.held else "-"


if __name__ == "__main__":
    sys.exit(main())
