"""The cost of a margin against the share of people without an option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from onward.agents.candidates import Space
from onward.agents.candidates.search import Search
from onward.benchmarks.face import progress
from onward.benchmarks.recourse.cases import Case, mean, options_of

MARGINS = tuple(np.arange(0.0, 0.46, 0.05).round(2).tolist())


class Point(NamedTuple):
    """The mean cost of the options with a margin, and the share of people without one."""

    margin: float
    none: float
    cost: float


def curve(space: Space, case: Case) -> list[Point]:
    """The points of all margins up to the first at which nobody has an option."""
    points: list[Point] = []
    for margin in MARGINS:
        found = options_of(Search, space, case, margin)
        if not len(found.people):
            break
        points.append(Point(margin, 1 - len(found.people) / len(case.people), mean(found.cost)))
    progress(f"{case.title}: the curve has {len(points)} margins")
    return points


def draw(path: Path, curves: Mapping[str, Sequence[Point]]) -> None:
    """Write a figure with one line for each case; the same curves give the same file."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for number, (title, points) in enumerate(curves.items()):
        axes.plot([p.none for p in points], [p.cost for p in points], marker="o", color=f"C{number}", label=title)
        for point in points[::3]:
            axes.annotate(
                f"{point.margin:g}", (point.none, point.cost), fontsize=7, xytext=(3, 3), textcoords="offset points"
            )
    axes.set_yscale("log")
    axes.set_xlabel("share of people without an option")
    axes.set_ylabel("mean cost of the cheapest option")
    axes.set_title("What a margin costs (marks: the margin)", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(path, format="svg", metadata={"Date": None})
