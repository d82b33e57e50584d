"""Figures like ARLIM's 2, 3 and 4, as SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onward.benchmarks.improvement.reference import Reference
from onward.benchmarks.improvement.results import Place, Results
from onward.streams.errors import UsageError

FIGURES = {0.0: "figure-2", 0.25: "figure-3"}
"""The paper's comparisons, without and with noise on the execution probability."""
SENSITIVITY = "figure-4"

_MARKERS = "os^vD*PXdp"
_LEGEND_COLUMNS = 3
_SPREAD = 0.6
"""The share of a step that the marks of one noise take, side by side."""

_PANELS = {"mer": "mean expected reward", "improvement": "improvement", "cost": "cost"}


def draw(folder: Path, results: Mapping[str, Results], reference: Reference, classifier: str) -> list[Path]:
    """Draw what the results allow; raise ``UsageError`` when the files cannot be written."""
    drawn = []
    if (main := results.get("main")) is not None and main.scores:
        for trial in main.trials:
            name = FIGURES.get(trial.noise, f"comparison-{trial.label}")
            drawn.append(_save(folder / f"{name}.svg", _comparison(main, trial.label, reference, classifier)))
    if (sweep := results.get("noise")) is not None and sweep.scores:
        drawn.append(_save(folder / f"{SENSITIVITY}.svg", _sensitivity(sweep, reference, classifier)))
    return drawn


def _comparison(results: Results, label: str, reference: Reference, classifier: str) -> Figure:
    """Above: improvement and cost, a mark for each world, hollow the reference. Below: the reward so far."""
    figure = Figure(figsize=(4.2 * len(results.data), 7.0), layout="constrained")
    panels = figure.subplots(2, len(results.data), squeeze=False)
    for column, data in enumerate(results.data):
        above, below = panels[:, column]
        for number, place in enumerate(results.places(data, label)):
            _marks(above, results, place, number)
            curves = np.array([one.curve for one in results.scores[place].values()])
            below.plot(np.arange(1, curves.shape[1] + 1), curves.mean(axis=0), color=_colour(number))
            _cite(above, below, results, place, number, reference, classifier, label)
        below.axhline(_oracle(results, data, label), color="0.4", linestyle="--", label="oracle")
        _dress(above, data, "improvement", "cost")
        _dress(below, "", "rounds", "mean expected reward so far")
    _explain(figure, panels[0, 0], panels[1, 0])
    return figure


def _sensitivity(results: Results, reference: Reference, classifier: str) -> Figure:
    """Means and standard deviations as the noise grows, the methods of one noise side by side, hollow the reference."""
    figure = Figure(figsize=(4.2 * len(results.data), 9.0), layout="constrained")
    panels = figure.subplots(len(_PANELS), len(results.data), squeeze=False)
    for column, data in enumerate(results.data):
        methods = list(dict.fromkeys(place.method for place in results.places(data)))
        for row, (metric, name) in enumerate(_PANELS.items()):
            axes = panels[row, column]
            for number, method in enumerate(methods):
                places = [Place(data, trial.label, method) for trial in results.trials]
                spreads = [results.spread(place, metric) for place in places]
                means, errors = [one.mean for one in spreads], [one.std for one in spreads]
                x = _beside([trial.noise for trial in results.trials], number, len(methods))
                look = {
                    "color": _colour(number),
                    "marker": _marker(number),
                    "label": f"{method}, {spreads[0].n} worlds",
                }
                axes.errorbar(x, means, errors, capsize=1.5, markersize=3.5, linewidth=0.9, **look)
                for at, trial, place in zip(x, results.trials, places, strict=True):
                    for cited in _cited(results, place, reference, classifier, trial.noise):
                        if metric in cited:
                            _hollow(axes, at, cited[metric], number)
            _dress(axes, data if row == 0 else "", "noise", name)
    _explain(figure, panels[0, 0])
    return figure


def _beside(noises: Sequence[float], number: int, methods: int) -> list[float]:
    """Where the marks of a method stand, so that those of others do not cover them."""
    step = min(np.diff(sorted(noises)), default=0.0)
    return [noise + _SPREAD * step * ((number + 0.5) / methods - 0.5) for noise in noises]


def _marks(axes: Axes, results: Results, place: Place, number: int) -> None:
    scores = list(results.scores[place].values())
    x, y = [one.improvement for one in scores], [one.cost for one in scores]
    axes.scatter(x, y, color=_colour(number), marker=_marker(number), s=22, alpha=0.7, label=place.method)


def _cite(
    above: Axes,
    below: Axes,
    results: Results,
    place: Place,
    number: int,
    reference: Reference,
    classifier: str,
    label: str,
) -> None:
    (noise,) = (trial.noise for trial in results.trials if trial.label == label)
    rounds = len(next(iter(results.scores[place].values())).curve)
    for cited in _cited(results, place, reference, classifier, noise):
        _hollow(above, cited["improvement"], cited["cost"], number)
        _hollow(below, rounds, cited["mer"], number)


def _cited(
    results: Results, place: Place, reference: Reference, classifier: str, noise: float
) -> Sequence[Mapping[str, float]]:
    method, seeds = results.methods[place.method], results.seeds(place)
    rows = reference.cite(place.data, classifier, noise, method, seeds)
    return [{name: one.mean for name, one in row.metrics.items()} for row in rows]


def _hollow(axes: Axes, x: float, y: float, number: int) -> None:
    (mark,) = axes.plot(x, y, marker=_marker(number), markersize=9, color=_colour(number), linestyle="none")
    mark.set(markerfacecolor="none", clip_on=False)


def _explain(figure: Figure, *panels: Axes) -> None:
    """Below all panels, where it covers none of them, what the marks and lines of these stand for."""
    named = [axes.get_legend_handles_labels() for axes in panels]
    handles = [handle for found, _ in named for handle in found]
    names = [name for _, found in named for name in found]
    look = {"frameon": False, "fontsize": 8, "title": "hollow marks: references", "title_fontsize": 8}
    figure.legend(handles, names, loc="outside lower center", ncols=_LEGEND_COLUMNS, **look)


def _oracle(results: Results, data: str, label: str) -> float:
    return results.spread(results.places(data, label)[0], "oracle").mean


def _colour(number: int) -> str:
    return f"C{number % 10}"


def _marker(number: int) -> str:
    return _MARKERS[number % len(_MARKERS)]


def _dress(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _save(path: Path, figure: Figure) -> Path:
    """The same results give the same file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.family": "sans-serif"}):
            figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise UsageError(f"{path}: the figure cannot be written: {error.strerror}") from None
    return path
