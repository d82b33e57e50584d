"""The figures of the paper, as numbers and as SVG files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure

from onward.benchmarks.face import Row, progress
from onward.streams.errors import UsageError

from .data import Array, DataSet, Mask, Rows
from .methods import OURS, SIZE, Method, dice, ours, peers, searches, subjects
from .metrics import summary
from .play import Played, play
from .sampler import cost_of, draw_alpha, sample

ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
ALPHA_SAMPLES, ALPHA_BUDGET, ALPHA_PEOPLE = 30, 3000, 50
"""Of figure 2, as the authors ran it."""
SUBSETS, SUBSET_SAMPLES = 500, 25
LEAST_OF_BIN = 0.01
"""The share of all pairs of a person and a subset that have a distance, for which it is shown."""
BUDGETS = (500, 1000, 2000, 3000, 5000, 10_000)
SIZES = (1, 2, 3, 5, 10, 20, 30)
SAMPLES = (1, 5, 10, 20, 30, 100, 200, 300, 500, 1000)

PUBLISHED_DROP = 3.0
"""Points of FS@1 that COLS loses at most at the largest distance (appendix A.2, Q6)."""
PUBLISHED_AT_500 = 70.0
"""FS@1 of COLS with the smallest budget, about (appendix A.2, Q7)."""

Curves = dict[str, list[tuple[float, float]]]


def figure_2(data: DataSet, people: Rows, seed: int) -> Iterator[Row]:
    """FS@1 of COLS where the weight of the linear cost is one in the samples and another one in the person."""
    chosen = people[:ALPHA_PEOPLE]
    progress(f"{data.name}: figure 2, {len(chosen)} people")
    title = f"figure 2, {len(chosen)} people, FS@1 {data.name}"
    grid = np.empty((len(ALPHAS), len(ALPHAS)))
    for row, sampled in enumerate(ALPHAS):
        for column, hidden in enumerate(ALPHAS):
            crowd = subjects(data, chosen, seed, ALPHA_SAMPLES, alphas=(sampled, hidden))
            methods = {"COLS": searches(data, budget=ALPHA_BUDGET)["COLS"]}
            grid[row, column] = _satisfied(play(data, crowd, methods, seed=seed)[0])["COLS"]
            yield Row(f"{title} COLS, alpha {sampled:g} for {hidden:g}", grid[row, column], "%")
    spread = np.ptp(grid, axis=0).max()
    yield Row(f"{title} COLS, most that the samples' alpha changes", float(spread), "points")
    for cost in ("linear", "percentile", "mixed"):
        for hidden in (0.0, 1.0):
            crowd = subjects(data, chosen, seed, 1, alphas=(hidden, hidden))
            value = _satisfied(play(data, crowd, ours(data, chosen, cost=cost), seed=seed)[0])[OURS]
            yield Row(f"{title} {OURS}, cost {cost} for alpha {hidden:g}", value, "%")


def figure_3(data: DataSet, people: Rows, seed: int) -> Iterator[Row]:
    """FS@1 by how far the features that a person would change are from those of the nearest sample."""
    progress(f"{data.name}: figure 3, {len(people)} people")
    methods = {"COLS": searches(data)["COLS"]} | ours(data, people, samples=SUBSET_SAMPLES)
    random = np.random.default_rng(seed)
    subsets = sample(data, people[0], SUBSETS, 0.5, random).editable
    far, satisfied = [], {name: list[Array]() for name in methods}
    for subject in subjects(data, people, seed, SUBSET_SAMPLES, 1):
        alpha = float(draw_alpha(random))
        hidden = sample(data, subject.person, SUBSETS, alpha, random, editable=subsets).costs
        far.append(_distances(subsets, subject.sampled.editable))
        for name, method in methods.items():
            rows = _accepted(data, method(subject, random))
            satisfied[name].append(cost_of(data, rows, hidden).min(axis=0, initial=np.inf) <= 1.0)
    distance = np.concatenate(far)
    values, counts = np.unique(distance, return_counts=True)
    bins = values[counts >= LEAST_OF_BIN * len(distance)]
    title = f"figure 3, {len(people)} people, FS@1 {data.name}"
    for name, found in satisfied.items():
        share = np.concatenate(found)
        by_bin = [100.0 * float(share[distance == each].mean()) for each in bins]
        for each, value in zip(bins, by_bin, strict=True):
            yield Row(f"{title} {name}, at distance {each:.2f}", value, "%")
        published = PUBLISHED_DROP if (data.name, name) == ("adult", "COLS") else None
        source = " (published)" if published else ""
        yield Row(f"{title} {name}, drop{source}", by_bin[0] - min(by_bin), "points", reference=published)


def _distances(subsets: Mask, samples: Mask) -> Array:
    """The distance of each subset of features (s, F), 1 for those in it, from the nearest of the samples (M, F)."""
    unlike = (subsets[:, np.newaxis] != samples).sum(axis=2)
    return np.asarray(np.sqrt(unlike.min(axis=1)))


def figure_4(data: DataSet, people: Rows, seed: int, folder: Path | None) -> Iterator[Row]:
    """FS@1 by the budget of model rows; DiCE and Onward keep to none."""

    def methods(budget: float) -> Mapping[str, Method]:
        return searches(data, SIZE, int(budget)) | peers(data, people, SIZE, int(budget))

    curves = _curves(data, people, seed, 4, BUDGETS, methods)
    without = dice(data, people) | ours(data, people)
    for name, value in _satisfied(play(data, subjects(data, people, seed), without, seed=seed)[0]).items():
        curves[name] = [(budget, value) for budget in BUDGETS]
    published = {("COLS", float(BUDGETS[0])): PUBLISHED_AT_500} if data.name == "adult" else {}
    yield from _drawn(4, data.name, len(people), "budget", curves, folder, published)


def figure_5(data: DataSet, people: Rows, seed: int, folder: Path | None) -> Iterator[Row]:
    """FS@1 by the number of options."""

    def methods(size: float) -> Mapping[str, Method]:
        own = int(size)
        return searches(data, own) | peers(data, people, own) | dice(data, people, own) | ours(data, people, own)

    yield from _drawn(5, data.name, len(people), "options", _curves(data, people, seed, 5, SIZES, methods), folder)


def figure_6(data: DataSet, people: Rows, seed: int, folder: Path | None) -> Iterator[Row]:
    """FS@1 by the number of sampled cost functions."""
    curves: Curves = {}
    for samples in SAMPLES:
        progress(f"{data.name}: figure 6, {samples}, {len(people)} people")
        methods = {"COLS": searches(data)["COLS"]} | ours(data, people, samples=samples)
        played, _ = play(data, subjects(data, people, seed, samples), methods, seed=seed)
        for name, value in _satisfied(played).items():
            curves.setdefault(name, []).append((samples, value))
    yield from _drawn(6, data.name, len(people), "samples", curves, folder)


def _curves(
    data: DataSet,
    people: Rows,
    seed: int,
    number: int,
    places: Sequence[float],
    methods: Callable[[float], Mapping[str, Method]],
) -> Curves:
    curves: Curves = {}
    for place in places:
        progress(f"{data.name}: figure {number}, {place}, {len(people)} people")
        played, _ = play(data, subjects(data, people, seed), methods(place), seed=seed)
        for name, value in _satisfied(played).items():
            curves.setdefault(name, []).append((place, value))
    return curves


def _drawn(
    number: int,
    name: str,
    people: int,
    axis: str,
    curves: Curves,
    folder: Path | None,
    published: Mapping[tuple[str, float], float] = MappingProxyType({}),
) -> Iterator[Row]:
    for method, points in curves.items():
        for place, value in points:
            reference = published.get((method, place))
            source = " (published)" if reference else ""
            title = f"figure {number}, {people} people, FS@1 {name} {method}, {place:g} {axis}{source}"
            yield Row(title, value, "%", reference=reference)
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


def _satisfied(played: Played) -> dict[str, float]:
    return {name: summary(measures)["FS@1"][0] for name, measures in played.items()}


def _accepted(data: DataSet, rows: Rows) -> Rows:
    return rows[data.accepts(rows)] if len(rows) else rows
