"""What a world shows of a run, as data: the screen, the HTML report and ``--json`` are made of the same sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from .recording import Summary


class PlotLine(NamedTuple):
    """A line of a plot. Lines of one ``group`` have one colour, those of none are grey and dashed."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    group: int | None = None
    dotted: bool = False


class Plot(NamedTuple):
    """A plot of lines over ``x``, from 0 on; up to ``highest``, where it is given."""

    title: str
    lines: Sequence[PlotLine]
    x: str = "rejected people answered"
    highest: float | None = None


class Section(NamedTuple):
    """A table, whose first row holds its columns' names, plots, and lines of text below them.

    On the screen there are no plots. ``data`` are its fields in ``--json``; a section without a title has nothing else.
    """

    title: str
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()
    plots: Sequence[Plot] = ()
    data: Mapping[str, object] = MappingProxyType({})


class RunProgress(NamedTuple):
    """How far a run is, in numbers and in words."""

    done: int
    total: int
    text: str


class ShownWorld(NamedTuple):
    """What a world shows of a run beside the figures of every run.

    ``line`` has the main figures. ``onward simulate`` prints the ``conclusions`` when the world has ended.
    """

    served: RunProgress
    line: str
    sections: Sequence[Section] = ()
    conclusions: Sequence[str] = ()


class RunView(NamedTuple):
    """A run as it is shown: the figures of every run, and those of its world."""

    summary: Summary
    shown: ShownWorld

    @property
    def encoded(self) -> bytes:
        """The output of ``onward demo --json``: the figures of every run, then those of the world's sections."""
        items = (item for section in self.shown.sections for item in section.data.items())
        return msgspec.json.encode({**msgspec.to_builtins(self.summary), **dict(items)})
