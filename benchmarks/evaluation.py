"""The coverage of off-policy estimates, on logs whose true mean reward is known: simulated ones, and those of programs.

The log's policy explores a share of the steps among as many candidates as are feasible, and agrees else with the
evaluated one at a share of the steps. Rewards are 0 or 1, of the same mean whatever is suggested, half in the first
table; that mean is what is expected of them.

Programs with three options are played by the production engine in memory (``truth/evaluated_logs.py``), with much, more
and little exploration, and other choices are evaluated on their logs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from rich.table import Table

from onward.agents.arrays import Array
from onward.agents.evaluation import Estimate, Log, evaluate
from onward.agents.evaluation.estimators import snips
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.truth.evaluated_logs import EvaluatedLog, evaluated_logs
from onward.streams.errors import UsageError

ESTIMATES = ("ips", "snips", "doubly_robust")
AGREEING = (0.0, 0.5, 0.9)
STEPS = (1_000, 3_000, 10_000, 30_000, 100_000)
HALF = 0.5
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
RATES_STEPS = 30_000
CONFIDENCE = 0.95
AIM_GIVEN = 0.9
"""The share of the logs of programs with three options that give an estimate, at least."""
WIDTH = 132
PROGRAMS = "programs with three options"


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line. Of the seeds the first counts."""

    logs: int = field(default=400, metadata={"quick": 10, "help": "simulated logs a row"})
    feasible: int = field(default=30, metadata={"help": "candidates to explore among"})
    exploration: float = field(default=0.1, metadata={"help": "share of the steps that explore"})
    programs: int = field(
        default=20, metadata={"quick": 1, "help": "programs with three options that are played; 0 leaves them out"}
    )
    people: int = field(default=3000, metadata={"quick": 150, "help": "rejected people of each of them"})


class Held(NamedTuple):
    """Of many logs of some steps and mean reward: the share that gives an estimate, how many of the 95 % intervals then
    hold the truth, and half their width; and how many intervals of SNIPS would if all were given."""

    agreeing: float
    steps: int
    rate: float
    given: float
    held: dict[str, float]
    half_width: dict[str, float]
    held_of_all: float


def of_single_options(reward: Array, propensity: Array, target: Array, taken: Array, wanted: Array) -> Log:
    """A log of one option a step.

    ``target`` is 1 where the evaluated policy picks the logged option, else 0; ``taken`` is the expected reward of the
    logged option.
    """
    weight = target / propensity
    explored = propensity < 1.0
    one, unsupported = np.ones(len(reward)), ~explored & (target < 1.0)
    return Log(reward, weight, weight * reward, weight * taken, wanted, one, unsupported, explored, ~explored)


def simulated(
    generator: np.random.Generator, steps: int, feasible: int, exploration: float, agreeing: float, rate: float = HALF
) -> Log:
    """One log. The probability of a reward is ``rate`` on average."""
    even = exploration / feasible
    wanted = np.where(generator.random(steps) < agreeing, 1.0 - exploration + even, even)
    matched = generator.random(steps) < wanted
    # Steps at which the policies differ have weight 0, so their exact propensities do not matter.
    propensity = np.where(matched, wanted, 1.0 - wanted)
    reward = generator.random(steps) < rate * (0.4 + 1.2 * generator.random(steps))
    expected = np.full(steps, rate)
    return of_single_options(reward.astype(np.float64), propensity, matched.astype(np.float64), expected, expected)


def rows(logs: int, feasible: int, exploration: float, generator: np.random.Generator) -> Iterator[Held]:
    """Every length of log, ``logs`` times."""
    for agreeing in AGREEING:
        for steps in STEPS:
            yield _row(generator, logs, steps, feasible, exploration, agreeing, HALF)


def rare(logs: int, feasible: int, exploration: float, generator: np.random.Generator) -> Iterator[Held]:
    """Every mean reward, ``logs`` times."""
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
) -> Held:
    some = [simulated(generator, steps, feasible, exploration, agreeing, rate) for _ in range(logs)]
    found = [evaluation for log in some if (evaluation := evaluate(log)).doubt is None]
    held, width = {}, {}
    for name in ESTIMATES if found else ():
        estimates: list[Estimate] = [getattr(evaluation, name) for evaluation in found]
        held[name] = _share_held(estimates, rate)
        width[name] = float(np.mean([estimate.high - estimate.value for estimate in estimates]))
    held_of_all = _share_held([snips(log) for log in some if log.weight.any()], rate)
    return Held(agreeing, steps, rate, len(found) / logs, held, width, held_of_all)


def _share_held(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]))


@dataclass
class Benchmark:
    """One run: its results, for the rows and the tables."""

    by_steps: list[Held] = field(default_factory=list)
    by_rate: list[Held] = field(default_factory=list)
    played: list[EvaluatedLog] = field(default_factory=list)

    def measure(self, args: Args) -> Iterator[Row]:
        """Every length of log, then every mean reward."""
        _check(args)
        for found, every in ((self.by_steps, rows), (self.by_rate, rare)):
            for held in every(args.logs, args.feasible, args.exploration, np.random.default_rng(args.seeds[0])):
                found.append(held)
                title = f"agreeing {held.agreeing:g}, {held.steps:,} steps, mean reward {held.rate:g}"
                progress(f"{title}: {held.given:.0%} of the logs give an estimate")
                yield from _figures(title, held)
        for log in evaluated_logs(args.programs, args.people, args.seeds[0]):
            self.played.append(log)
            progress(f"{log.target} on a log of {log.choice}: {log.evaluation.doubt or 'an estimate'}")
        yield from _of_programs(self.played)

    def show(self, _: Sequence[Row]) -> Iterator[Table]:
        """A table each."""
        columns = ("estimate given", *(f"{name}: held, half width" for name in ESTIMATES))
        table = Table("agreeing", "steps", *columns)
        for held in self.by_steps:
            table.add_row(f"{held.agreeing:g}", f"{held.steps:,}", *_cells(held))
        yield table
        table = Table("agreeing", "mean reward", *columns, "snips held, of all", title=f"{RATES_STEPS:,} steps")
        for held in self.by_rate:
            table.add_row(f"{held.agreeing:g}", f"{held.rate:g}", *_cells(held), f"{held.held_of_all:.3f}")
        yield table
        if self.played:
            yield _table_of_programs(self.played)


def _check(args: Args) -> None:
    if args.logs < 1 or args.feasible < 1:
        raise UsageError(f"--logs {args.logs} and --feasible {args.feasible}: give numbers from 1")
    if not 0 < args.exploration <= 1:
        raise UsageError(f"--exploration {args.exploration:g}: give a share above 0, up to 1")


def _figures(title: str, held: Held) -> Iterator[Row]:
    yield Row(f"{title}: estimate given", held.given, "of logs")
    for name, share in held.held.items():
        yield Row(f"{title}: {name}, held", share, "of intervals", reference=CONFIDENCE)
        yield Row(f"{title}: {name}, half width", held.half_width[name], "reward", better="lower")
    yield Row(f"{title}: snips held, of all", held.held_of_all, "of intervals", reference=CONFIDENCE)


def _of_programs(played: Sequence[EvaluatedLog]) -> Iterator[Row]:
    """How many policies get an estimate, and how many of the intervals hold what is true."""
    if not played:
        return
    given = [log for log in played if log.evaluation.doubt is None]
    yield Row(f"{PROGRAMS}: estimate given", len(given) / len(played), "of evaluations", aim=AIM_GIVEN)
    for name in ESTIMATES if given else ():
        held, width = _held(given, name)
        yield Row(f"{PROGRAMS}: {name}, held", held, "of intervals", reference=CONFIDENCE)
        yield Row(f"{PROGRAMS}: {name}, half width", width, "reward", better="lower")


def _table_of_programs(played: Sequence[EvaluatedLog]) -> Table:
    """A line for each share of exploration, and one for all."""
    table = Table("exploration", "evaluations", "estimate given", *(f"{name}: held, half width" for name in ESTIMATES))
    table.title = PROGRAMS
    for share in (*sorted({log.exploration for log in played}), None):
        own = [log for log in played if share in (None, log.exploration)]
        given = [log for log in own if log.evaluation.doubt is None]
        cells = [_held(given, name) for name in ESTIMATES] if given else []
        texts = [f"{held:.2f}, {width:.3f}" for held, width in cells] or ["-"] * len(ESTIMATES)
        table.add_row("all" if share is None else f"{share:g}", f"{len(own)}", f"{len(given) / len(own):.2f}", *texts)
    return table


def _held(given: Sequence[EvaluatedLog], name: str) -> tuple[float, float]:
    """The share of the intervals that hold what is true, and half their mean width."""
    estimates: list[tuple[Estimate, float]] = [(getattr(log.evaluation, name), log.truth) for log in given]
    held = [estimate.low <= truth <= estimate.high for estimate, truth in estimates]
    return float(np.mean(held)), float(np.mean([estimate.high - estimate.value for estimate, _ in estimates]))


def _cells(held: Held) -> Iterator[str]:
    yield f"{held.given:.2f}"
    for name in ESTIMATES:
        yield f"{held.held[name]:.3f}, {held.half_width[name]:.3f}" if held.held else "-"


if __name__ == "__main__":
    benchmark = Benchmark()
    sys.exit(face.run(Args, benchmark.measure, show=benchmark.show, width=WIDTH))
