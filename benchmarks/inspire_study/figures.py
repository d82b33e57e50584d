"""The figures of the paper, as numbers and as SVG files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from onward.benchmarks.face import Row, progress
from onward.streams.errors import UsageError

from .data import Array, DataSet, Mask, Rows
from .methods import OURS, SIZE, Method, ours, peers, searches, subjects
from .metrics import summary
from .play import play
from .sampler import cost_of, draw_alpha, sample

ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
ALPHA_SAMPLES, ALPHA_BUDGET, ALPHA_PEOPLE = 30, 3000, 50
"""Of figure 2, as the authors ran it."""
SUBSETS, SUBSET_SAMPLES, BINS = 500, 25, 3
BUDGETS = (500, 1000, 2000, 3000, 5000, 10_000)
SIZES = (1, 2, 3, 5, 10, 20, 30)
SAMPLES = (1, 5, 10, 20, 30, 100, 200, 300, 500, 1000)

Curves = dict[str, list[tuple[float, float]]]


def figure_2(data: DataSet, people: int, seed: int) -> Iterator[Row]:
    """FS@1 of COLS where the weight of the linear cost is one in the samples and another one in the person."""
    progress(f"{data.name}: figure 2")
    chosen = data.people[: min(people, ALPHA_PEOPLE)]
    grid = np.empty((len(ALPHAS), len(ALPHAS)))
    for row, sampled in enumerate(ALPHAS):
        for column, hidden in enumerate(ALPHAS):
            crowd = subjects(data, chosen, seed, ALPHA_SAMPLES, alphas=(sampled, hidden))
            methods = {"COLS": searches(data, budget=ALPHA_BUDGET)["COLS"]}
            grid[row, column] = _satisfied(play(data, crowd, methods, seed=seed)[0])["COLS"]
            yield Row(f"figure 2, FS@1 {data.name} alpha {sampled:g} for {hidden:g}", grid[row, column], "%")
    spread = np.ptp(grid, axis=0).max()
    yield Row(f"figure 2, FS@1 {data.name}: most that the samples' alpha changes", float(spread), "points")
    for cost in ("linear", "percentile", "mixed"):
        for hidden in (0.0, 1.0):
            crowd = subjects(data, chosen, seed, 1, alphas=(hidden, hidden))
            value = _satisfied(play(data, crowd, ours(data, chosen, cost=cost), seed=seed)[0])[OURS]
            yield Row(f"figure 2, FS@1 {data.name} cost {cost} for alpha {hidden:g}", value, "%")


def figure_3(data: DataSet, people: int, seed: int) -> Iterator[Row]:
    """FS@1 by how far the features that a person would change are from those of the nearest sample."""
    progress(f"{data.name}: figure 3")
    chosen = data.people[:people]
    methods = {"COLS": searches(data)["COLS"]} | ours(data, chosen, samples=SUBSET_SAMPLES)
    random = np.random.default_rng(seed)
    subsets = sample(data, chosen[0], SUBSETS, 0.5, random).editable
    far, satisfied = [], {name: list[Array]() for name in methods}
    for subject in subjects(data, chosen, seed, SUBSET_SAMPLES, 1):
        alpha = float(draw_alpha(random))
        hidden = sample(data, subject.person, SUBSETS, alpha, random, editable=subsets).costs
        far.append(_distances(subsets, subject.sampled.editable))
        for name, method in methods.items():
            rows = _accepted(data, method(subject, random))
            satisfied[name].append(cost_of(data, rows, hidden).min(axis=0, initial=np.inf) <= 1.0)
    distance = np.concatenate(far)
    order = np.array_split(np.argsort(distance, kind="stable"), BINS)
    for name, found in satisfied.items():
        share = np.concatenate(found)
        for place, own in enumerate(order):
            at = distance[own].mean()
            yield Row(f"figure 3, FS@1 {data.name} {name}, bin {place + 1} at {at:.2f}", 100 * share[own].mean(), "%")


def _distances(subsets: Mask, samples: Mask) -> Array:
    """The distance of each subset (s, F), scaled to sum to 1, from the nearest of the samples (M, F)."""
    one, other = (each / each.sum(axis=1, keepdims=True) for each in (subsets, samples))
    apart = np.linalg.norm(one[:, np.newaxis] - other, axis=2)
    return np.asarray(apart.min(axis=1))


def figure_4(data: DataSet, people: int, seed: int, folder: Path | None) -> Iterator[Row]:
    """FS@1 by the budget of model rows."""
    chosen = data.people[:people]

    def methods(budget: float) -> Mapping[str, Method]:
        return searches(data, SIZE, int(budget)) | peers(data, chosen, SIZE, int(budget))

    mine = ours(data, chosen)
    curves = _curves(data, chosen, seed, 4, BUDGETS, methods)
    value = _satisfied(play(data, subjects(data, chosen, seed), mine, seed=seed)[0])[OURS]
    curves[OURS] = [(budget, value) for budget in BUDGETS]
    yield from _drawn(4, data.name, "budget", curves, folder)


def figure_5(data: DataSet, people: int, seed: int, folder: Path | None) -> Iterator[Row]:
    """FS@1 by the number of options."""
    chosen = data.people[:people]

    def methods(size: float) -> Mapping[str, Method]:
        return searches(data, int(size)) | peers(data, chosen, int(size)) | ours(data, chosen, int(size))

    yield from _drawn(5, data.name, "options", _curves(data, chosen, seed, 5, SIZES, methods), folder)


def figure_6(data: DataSet, people: int, seed: int, folder: Path | None) -> Iterator[Row]:
    """FS@1 by the number of sampled cost functions."""
    chosen = data.people[:people]
    curves: Curves = {}
    for samples in SAMPLES:
        progress(f"{data.name}: figure 6, {samples}")
        methods = {"COLS": searches(data)["COLS"]} | ours(data, chosen, samples=samples)
        played, _ = play(data, subjects(data, chosen, seed, samples), methods, seed=seed)
        for name, value in _satisfied(played).items():
            curves.setdefault(name, []).append((samples, value))
    yield from _drawn(6, data.name, "samples", curves, folder)


def _curves(data: DataSet, people: Rows, seed: int, number: int, places: Sequence[float], methods: object) -> Curves:
    curves: Curves = {}
    for place in places:
        progress(f"{data.name}: figure {number}, {place}")
        played, _ = play(data, subjects(data, people, seed), methods(place), seed=seed)  # type: ignore[operator]
        for name, value in _satisfied(played).items():
            curves.setdefault(name, []).append((place, value))
    return curves


def _drawn(number: int, name: str, axis: str, curves: Curves, folder: Path | None) -> Iterator[Row]:
    for method, points in curves.items():
        for place, value in points:
            yield Row(f"figure {number}, FS@1 {name} {method}, {place:g} {axis}", value, "%")
    if folder is None:
        return
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for method, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3.5, linewidth=0.9, label=method)
    axes.set(xlabel=axis, ylabel="FS@1 (%)", xscale="log")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"figure_{number}_{name}.svg", metadata={"Date": None})
    except OSError as error:
        raise UsageError(f"--figures {folder}: {error.strerror}") from None


def _satisfied(played: Mapping[str, Sequence[object]]) -> dict[str, float]:
    return {name: summary(measures)["FS@1"][0] for name, measures in played.items()}  # type: ignore[arg-type]


def _accepted(data: DataSet, rows: Rows) -> Rows:
    return rows[data.accepts(rows)] if len(rows) else rows
