"""The HTML report of a run: one file with its numbers and curves, which loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Protocol

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....schemas.events import Threshold
from ...advice import MANY_CHANGES
from ...errors import UsageError
from ...simulation.run_stats import Summary
from .shift import shift_lines
from .words import mean, percentage

ORACLE_COLOUR = "#6b7280"
COLOURS = ("#c2570c", "#0f766e", "#4338ca", "#be185d", "#4d7c0f", "#0369a1")


class CurvePoint(Protocol):
    """The score after a number of answers, see ``Scoreboard.curve``."""

    @property
    def rounds(self) -> int:
        """Number of answers."""

    @property
    def mer(self) -> float:
        """Mean expected reward so far."""

    @property
    def regret(self) -> float:
        """Regret so far."""

    @property
    def oracle_mer(self) -> float:
        """Mean expected reward of the best suggestions so far."""


Curves = Mapping[str, Sequence[CurvePoint]]


def write_report(
    path: Path,
    title: str,
    facts: Mapping[str, str],
    summary: Summary,
    curves: Curves,
    rounds: Sequence[Threshold] = (),
) -> None:
    """Write the page; ``facts`` describe how the run was made; ``curves`` are each policy's score over time.

    ``rounds`` are the closed rounds of programs with limited places.

    Raises ``UsageError`` when the file cannot be written.
    """
    templates = Environment(
        loader=PackageLoader("onward.streams.cli.display"), autoescape=True, undefined=StrictUndefined
    )
    page = templates.get_template("demo.html.j2").render(
        title=title,
        facts=facts,
        summary=summary,
        examples=[str(recourse).splitlines() for recourse in summary.examples],
        many_changes=MANY_CHANGES,
        mean=mean,
        percentage=percentage,
        shift_lines=shift_lines,
        rounds=[_thresholds(rounds), _coverage(rounds)] if rounds else [],
        reward=_reward(curves),
        regret=_regret(curves),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: the report cannot be written: {error.strerror}") from None


def _reward(curves: Curves) -> str:
    figure, axes = _axes("mean expected reward so far")
    for (name, curve), colour in zip(curves.items(), _colours(curves), strict=True):
        axes.plot([point.rounds for point in curve], [point.mer for point in curve], label=name, color=colour)
    longest = max(curves.values(), key=len, default=())
    rounds, best = [point.rounds for point in longest], [point.oracle_mer for point in longest]
    axes.plot(rounds, best, label="oracle", color=ORACLE_COLOUR, linestyle="--")
    axes.set_ylim(0, 1)
    return _svg(figure, axes)


def _regret(curves: Curves) -> str:
    figure, axes = _axes("regret so far")
    for (name, curve), colour in zip(curves.items(), _colours(curves), strict=True):
        axes.plot([point.rounds for point in curve], [point.regret for point in curve], label=name, color=colour)
    axes.set_ylim(bottom=0)
    return _svg(figure, axes)


def _thresholds(rounds: Sequence[Threshold]) -> str:
    figure, axes = _axes("threshold and goal for the next rounds", "round")
    for colour, (name, closed) in zip(COLOURS * len(rounds), _by_program(rounds).items(), strict=False):
        numbers = [one.round for one in closed]
        axes.plot(numbers, [one.threshold for one in closed], label=f"{name}: threshold", color=colour)
        goals = [float("nan") if one.goal is None else one.goal for one in closed]
        axes.plot(numbers, goals, label=f"{name}: goal", color=colour, linestyle=":")
    axes.set_ylim(0, 1)
    return _svg(figure, axes)


def _coverage(rounds: Sequence[Threshold]) -> str:
    figure, axes = _axes("coverage so far", "round")
    for colour, (name, closed) in zip(COLOURS * len(rounds), _by_program(rounds).items(), strict=False):
        known = [(one.round, one.coverage.achieved) for one in closed if one.coverage.achieved is not None]
        axes.plot([number for number, _ in known], [achieved for _, achieved in known], label=name, color=colour)
    axes.axhline(rounds[-1].coverage.nominal, label="nominal", color=ORACLE_COLOUR, linestyle="--")
    axes.set_ylim(0, 1.02)
    return _svg(figure, axes)


def _by_program(rounds: Sequence[Threshold]) -> Mapping[str, Sequence[Threshold]]:
    programs = sorted({closed.program for closed in rounds})
    return {program: [closed for closed in rounds if closed.program == program] for program in programs}


def _colours(curves: Curves) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(len(curves))]


def _axes(title: str, counted: str = "rejected people answered") -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(counted)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    return figure, axes


def _svg(figure: Figure, axes: Axes) -> str:
    """The figure as an SVG element, the same for the same curves."""
    axes.set_xlim(left=0)
    axes.legend(frameon=False)
    text = StringIO()
    with mpl.rc_context(
        {"svg.hashsalt": axes.get_title(loc="left"), "svg.fonttype": "none", "font.family": "sans-serif"}
    ):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    document = text.getvalue()
    return document[document.index("<svg") :]
