"""The figures of durable recourse, as SVG files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from onward.streams.errors import UsageError

Floats = NDArray[np.float64]
Curve = list[tuple[float, float]]

BLOCK = 5
"""So many rounds are one point of the figure of drift."""


def draw(
    folder: Path,
    fronts: Mapping[str, Curve],
    horizons: Mapping[str, Curve],
    drift: Mapping[str, Floats],
    lessons: Mapping[str, Curve] | None = None,
) -> None:
    """Draw what was measured; raise ``UsageError`` when the files cannot be written."""
    if lessons:
        _figure(folder / "convergence.svg", "lesson of 50 rounds", "share", lambda axes: _curves(axes, lessons))
    if fronts:
        _figure(folder / "pareto.svg", "reliability RR", "feasibility RF", lambda axes: _curves(axes, fronts))
    if horizons:
        _figure(folder / "horizons.svg", "rounds T", "feasibility RF", lambda axes: _curves(axes, horizons))
    if drift:
        _figure(folder / "drift.svg", "round", "reliability RR", lambda axes: _drift(axes, drift))


def _curves(axes: Axes, curves: Mapping[str, Curve]) -> None:
    for name, points in curves.items():
        x, y = zip(*points, strict=True)
        axes.plot(x, y, marker="o", markersize=3.5, linewidth=0.9, label=name)


def _drift(axes: Axes, drift: Mapping[str, Floats]) -> None:
    for name, values in drift.items():
        blocks = values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)
        axes.plot(np.arange(len(blocks)) * BLOCK + BLOCK / 2, blocks, linewidth=0.9, label=name)


def _figure(file: Path, x: str, y: str, fill: Callable[[Axes], None]) -> None:
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    fill(axes)
    axes.set(xlabel=x, ylabel=y)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file)
    except OSError as error:
        raise UsageError(f"--figures: {file} cannot be written: {error.strerror}") from error
