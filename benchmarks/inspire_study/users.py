"""The named figures of some users alone: Onward beside COLS and P-COLS, for data sets whose people are given."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onward.agents.choices.components.min_cost import best_exchange, expected_min_cost, greedy
from onward.agents.options import Options
from onward.benchmarks.face import Row, progress

from .data import DataSet, Rows
from .methods import OURS, SIZE, WARM, Stored, searches, subjects
from .metrics import summary
from .ours import onward
from .play import play

SMALL = 3
"""Options of the smaller sets."""


class Aims(NamedTuple):
    """What FS@1 and Cov must reach, in per cent, with 3 and with 10 options, for the stored people."""

    small: tuple[float, float]
    large: tuple[float, float]


AIMS = {"adult": Aims((71.5, 74.5), (82.5, 85.0))}
MOST_ROWS, MOST_MILLISECONDS, LEAST_SHARE = 1000.0, 20.0, 0.95


def named_rows(data: DataSet, people: Rows, seed: int, *, whole: bool) -> Iterator[Row]:
    """The figures of a data set's people (n, F), by the names that they are asked for.

    ``whole`` is whether they are all the stored people, for whom FS@1 and Cov have aims.
    """
    progress(f"{data.name}: the sets of {len(people)} people")
    with onward(data) as program:
        program.sets(people[:WARM], SIZE)
        large, small = program.sets(people, SIZE), program.sets(people, SMALL)
        rises = sum(map(_rises, program.options(people)))
    methods = searches(data) | {
        f"{OURS}, {size} options": Stored(made.rows, made.seconds) for size, made in ((SMALL, small), (SIZE, large))
    }
    started = time.monotonic()
    played, _ = play(data, subjects(data, people, seed), methods, seed=seed)
    progress(f"{data.name}: judged in {time.monotonic() - started:.0f} s")
    figures = {name: summary(measures) for name, measures in played.items()}
    aims = AIMS.get(data.name) if whole else None
    for size, aim in ((SMALL, aims and aims.small), (SIZE, aims and aims.large)):
        for place, metric in enumerate(("FS@1", "Cov")):
            value = figures[f"{OURS}, {size} options"][metric][0]
            yield Row(f"{metric} {data.name} N={size}", value, "%", aim=aim and aim[place])
    mine = figures[f"{OURS}, {SIZE} options"]
    yield Row(f"PAC {data.name} N={SIZE}", mine["PAC"][0], "cost", better="lower")
    yield Row(f"EMC {data.name} N={SIZE}", mine["EMC"][0], "cost", better="lower")
    for metric, unit in (("FS@1", "%"), ("Cov", "%"), ("EMC", "cost")):
        yield Row(f"{metric} {data.name} COLS", figures["COLS"][metric][0], unit)
    yield Row(f"FS@1 {data.name} P-COLS", figures["P-COLS"]["FS@1"][0], "%")
    pairs = zip(played[f"{OURS}, {SIZE} options"], played["P-COLS"], strict=True)
    below = np.mean([own.emc <= other.emc for own, other in pairs])
    yield Row(f"EMC below P-COLS {data.name}", float(below), "share", aim=LEAST_SHARE if data.name in AIMS else None)
    yield Row(f"EMC rises {data.name}", rises, "updates", aim=0.0, better="lower")
    yield Row(f"model rows {data.name}", large.model_rows / len(people), "rows", aim=MOST_ROWS, better="lower")
    milliseconds = 1e3 * large.seconds / len(people)
    yield Row(f"ms a person {data.name}", milliseconds, "ms", aim=MOST_MILLISECONDS, better="lower")


def _rises(options: Options) -> int:
    """How many updates of a person's set raise its EMC over the program's samples: picks, then exchanges."""
    samples = options.samples
    assert samples is not None, "the program's costs are sampled"
    costs, cap = samples.costs, samples.cost.cap
    weights = np.ones(costs.shape[1])
    chosen, _ = greedy(costs, weights, cap, SIZE)
    steps = [chosen[:count] for count in range(len(chosen) + 1)]
    while len(chosen):
        place, option = best_exchange(costs, weights, cap, steps[-1])
        if option < 0:
            break
        steps.append(np.where(np.arange(len(chosen)) == place, option, steps[-1]))
    emc = [expected_min_cost(costs, weights, cap, step) for step in steps]
    return int((np.diff(emc) > 0.0).sum())
