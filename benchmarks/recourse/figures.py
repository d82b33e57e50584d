"""The figures of what a generator proposes to the people of a case, and the tables that show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from onward.benchmarks.face import Row
from onward.benchmarks.recourse.cases import Case, Options, mean

SEPARATOR = "; "
AIM_CHANGES, AIM_RETRAINED, AIM_IMPROVEMENT = 2.0, 0.9, 0.75
AIM_COST_RATIO, AIM_NONE_ABOVE = 1.1, 0.01


def row(title: str, line: str, figure: str, value: float, unit: str = "", aim: float | None = None) -> Row:
    """One figure of a line of a table, which must not exceed its aim."""
    return Row(SEPARATOR.join((title, line, figure)), value, unit, aim=aim, better="lower")


def figures(title: str, line: str, case: Case, found: Options, *, aims: Sequence[str] = ()) -> Iterator[Row]:
    """The figures of a generator's options; ``aims`` names those of ``changes``, ``accepted`` and ``improvement`` that
    have one here."""
    yield row(title, line, "none", 1 - len(found.people) / len(case.people), "share")
    yield row(title, line, "changes", mean(found.changes), aim=AIM_CHANGES if "changes" in aims else None)
    yield row(title, line, "cost", mean(found.cost))
    if case.source.truth is not None:
        improvement = mean(case.source.truth(found.targets))
        aim = AIM_IMPROVEMENT if "improvement" in aims else None
        yield Row(SEPARATOR.join((title, line, "true improvement")), improvement, "share", aim=aim)
    accepted = mean(case.other(found.targets) > 0.5)
    aim = AIM_RETRAINED if "accepted" in aims else None
    yield Row(SEPARATOR.join((title, line, "accepted by another")), accepted, "share", aim=aim)
    yield row(title, line, "CPU ms", found.seconds / len(case.people) * 1000)


def tables(rows: Iterable[Row]) -> Iterator[Table]:
    """A table for each title: a line for each generator, with the aims that its figures have beside them."""
    lines: dict[str, dict[str, dict[str, str]]] = {}
    for one in rows:
        title, line, figure = one.name.split(SEPARATOR)
        lines.setdefault(title, {}).setdefault(line, {})[figure] = _cell(one)
    for title, of_title in lines.items():
        columns = list(dict.fromkeys(figure for cells in of_title.values() for figure in cells))
        table = Table("", *columns, title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
        for line, cells in of_title.items():
            table.add_row(line, *(cells.get(figure, "") for figure in columns))
        yield table


def _cell(one: Row) -> str:
    if math.isnan(one.value):
        return ""
    value = f"{one.value:,.0f}" if abs(one.value) >= 1000 else f"{one.value:.3g}"
    if one.aim is None:
        return value
    sign = ">=" if one.better == "higher" else "<="
    return f"{value} [green]({sign} {one.aim:.3g})" if one.reached else f"{value} [red](not {sign} {one.aim:.3g})"
