"""The sections that a world shows of a run, as data: the screen and the HTML report draw the same sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """A line of a plot. Lines of one ``group`` have one colour, those of none are grey and dashed."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    group: int | None = None
    dotted: bool = False


class Plot(NamedTuple):
    """A plot of lines over ``x``, from 0 on; up to ``highest``, where it is given."""

    title: str
    lines: Sequence[Line]
    x: str = "rejected people answered"
    highest: float | None = None


class Section(NamedTuple):
    """A table, whose first row holds its columns' names, plots, and lines of text below them.

    On the screen there are no plots.
    """

    title: str
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()
    plots: Sequence[Plot] = ()


class Served(NamedTuple):
    """How far a run is, in numbers and in words."""

    done: int
    total: int
    text: str
