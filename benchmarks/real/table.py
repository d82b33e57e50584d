"""The rows of all settings, beside what others have measured in worlds like them and what is to be reached."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from rich.table import Table

from onward.benchmarks.face import Row, progress
from onward.benchmarks.real.figures import Worlds
from onward.benchmarks.real.settings import SETTINGS

REWARD, UNLEARNED, ORACLE, NONE = "reward", "no learning", "oracle", "none"
HELP, EXECUTION = "stated minus true p", "stated minus true e"
COVERED, WIDTH, BETWEEN, AFTERWARDS = "covered", "width", "true between", "rejected afterwards"
NAMED, AFTER, WRONGLY = "named in time", "named after", "named wrongly"
METRICS = (REWARD, UNLEARNED, ORACLE, NONE, HELP, EXECUTION, COVERED, WIDTH, BETWEEN, AFTERWARDS, NAMED, AFTER, WRONGLY)
LOWER = frozenset({NONE, HELP, EXECUTION, WIDTH, AFTERWARDS, AFTER, WRONGLY})
QUICK = 30, 300
"""People and rows where it is only to be seen that it works."""

REFERENCE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "plain": {REWARD: 0.67, UNLEARNED: 0.66, ORACLE: 0.75},
        "confounded": {UNLEARNED: 0.475},
        "late": {REWARD: 0.63, UNLEARNED: 0.66, EXECUTION: -0.38},
        "late-confounded": {REWARD: 0.44, UNLEARNED: 0.475},
        "silent": {REWARD: 0.62, UNLEARNED: 0.66, EXECUTION: -0.38},
        "silent-confounded": {REWARD: 0.46, UNLEARNED: 0.475},
        "approved-only": {REWARD: 0.45, UNLEARNED: 0.40, ORACLE: 0.67, HELP: 0.43},
        "approved-only-late": {REWARD: 0.27, UNLEARNED: 0.40, ORACLE: 0.67},
        "measures": {REWARD: 0.26, ORACLE: 0.765, NONE: 0.65},
        "proxy": {REWARD: 0.51, UNLEARNED: 0.475, ORACLE: 0.64, HELP: 0.19},
        "side-effects": {REWARD: 0.675, UNLEARNED: 0.58, ORACLE: 0.77, AFTERWARDS: 0.23},
        "150-rows": {REWARD: 0.57, ORACLE: 0.70, HELP: 0.15},
        "152-columns": {REWARD: 0.62, ORACLE: 0.62, EXECUTION: 0.21},
    }
)
"""What was measured before in other worlds of the same description, by setting and figure. The numbers of these worlds
are others; the order of things is to be the same."""

AIMS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "approved-only": {HELP: 0.15},
        "approved-only-late": {REWARD: 0.45, HELP: 0.15},
        "measures-told": {NONE: 0.05},
        "measures-half-told": {REWARD: 0.6},
        "side-effects-told": {AFTERWARDS: 0.05},
    }
)
EVERYWHERE: Mapping[str, float] = MappingProxyType({EXECUTION: 0.05, COVERED: 0.75, NAMED: 0.9, WRONGLY: 0.0})
MOST_LOST = 0.005
"""What learning may cost where outcomes are late or few."""
OF_THE_ORACLE = 0.9
"""What is to be reached with many measures of the same things, where the spec tells that they follow."""

Figures = Mapping[str, Mapping[int, float]]
"""Figures by their names, and by seed."""


def rows(settings: Sequence[str], seeds: Sequence[int], people: int, most_rows: int) -> Iterator[Row]:
    """The rows of some settings: means over the seeds."""
    found: dict[str, dict[str, dict[int, float]]] = {name: {} for name in settings}
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            worlds = Worlds(seed, people, most_rows, Path(folder))
            for name in settings:
                figures = worlds.figures(name)
                progress(", ".join(f"{metric} {value:.3f}" for metric, value in figures.items()))
                for metric, value in figures.items():
                    found[name].setdefault(metric, {})[seed] = value
    for name, by_metric in found.items():
        yield from _rows(name, by_metric)


def _rows(name: str, figures: Figures) -> Iterator[Row]:
    for metric in METRICS:
        if metric in figures:
            yield Row(
                f"{metric} {name}",
                _mean(figures[metric]),
                "",
                REFERENCE.get(name, {}).get(metric),
                aim=_aim(name, metric, figures),
                better="lower" if metric in LOWER else "higher",
                by_seed=figures[metric],
            )


def _aim(name: str, metric: str, figures: Figures) -> float | None:
    if metric == REWARD and name.startswith(("late", "silent")):
        return _mean(figures[UNLEARNED]) - MOST_LOST
    if metric == REWARD and name == "measures-told":
        return OF_THE_ORACLE * _mean(figures[ORACLE])
    return AIMS.get(name, {}).get(metric, EVERYWHERE.get(metric))


def is_real(row: Row) -> bool:
    """Whether a row is of these settings."""
    return any(row.name == f"{metric} {name}" for metric in METRICS for name in SETTINGS)


def is_reached(row: Row) -> bool | None:
    """Whether the aim is, None without one: what is stated may be off to neither side."""
    if row.aim is not None and row.name.startswith((HELP, EXECUTION)):
        return abs(row.value) <= row.aim
    return row.reached


def tables(found: Sequence[Row]) -> Iterable[Table]:
    """One table: each figure with its standard error, beside the reference and the aim."""
    if found:
        table = Table("what real data are like", "mean", "reference", "aim", title_justify="left", box=None)
        for row in found:
            reference = "" if row.reference is None else f"{row.reference:.3f}"
            aim = "" if row.aim is None else f"{row.aim:.3f}{'' if is_reached(row) else ' missed'}"
            table.add_row(row.name, _with_error(row), reference, aim)
        yield table


def _with_error(row: Row) -> str:
    values = list((row.by_seed or {}).values())
    if len(values) < 2:
        return f"{row.value:.3f}"
    return f"{row.value:.3f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.3f}"


def _mean(by_seed: Mapping[int, float]) -> float:
    return float(np.mean(list(by_seed.values())))
