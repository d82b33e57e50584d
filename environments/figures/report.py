"""The HTML report of a run: one file with its numbers and curves, which loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from ...schemas.events import Recourse
from ...schemas.words.numbers import locale_of
from ...streams.advice import MANY_CHANGES
from ...streams.cli.display.words import mean, percentage
from ...streams.errors import writing
from ...streams.printable import printable
from ..rounds import ScorePoint
from .recording import Summary
from .sections import Plot, PlotLine, RunView


class WithoutWay(NamedTuple):
    """People who have no way forward for one reason: their number, and what one of them was told."""

    reason: str
    people: int
    example: str
    words: str


def outcome_in_words(summary: Summary) -> str | None:
    """How many rejected people have a way forward, and how often it helps; None where nobody was answered."""
    shown = summary.shown_answers
    if shown is None or not shown.answers:
        return None
    ways = _parts(100, shown.recourse / shown.answers)
    policy = summary.policies.get(shown.policy)
    if policy is None or policy.improvement is None:
        return f"Of 100 rejected people {ways} have a way forward."
    cases = _parts(10, policy.improvement)
    return f"Of 100 rejected people {ways} have a way forward; who takes it is helped in {cases} of 10 cases."


def without_way(summary: Summary) -> Iterator[WithoutWay]:
    """Who has none, and why: the most frequent reason first."""
    shown = summary.shown_answers
    if shown is None:
        return
    for reason, people in sorted(shown.none.items(), key=lambda entry: (-entry[1], entry[0])):
        example = shown.examples[reason]
        words = reason.replace("_", " ")
        yield WithoutWay(words, people, printable(example.application), printable(example.detail))


def _parts(whole: int, share: float) -> int:
    """A share in so many parts, rounded; not all and not none of them where it is less, or more."""
    rounded = round(whole * share)
    least, most = int(share > 0.0), whole - int(share < 1.0)
    return min(max(rounded, least), most)


GREY = "#6b7280"
COLOURS = ("#c2570c", "#0f766e", "#4338ca", "#be185d", "#4d7c0f", "#0369a1")


Curves = Mapping[str, Sequence[ScorePoint]]
"""The scores of a policy over time, by its name."""


def write_report(path: Path, title: str, facts: Mapping[str, str], view: RunView, curves: Curves) -> None:
    """Write the page; ``facts`` describe how the run was made. Raises ``UsageError`` when it cannot be written."""
    templates = Environment(
        loader=PackageLoader("onward.environments.figures"), autoescape=True, undefined=StrictUndefined
    )
    page = templates.get_template("demo.html.j2").render(
        title=title,
        facts=facts,
        summary=view.summary,
        outcome=outcome_in_words(view.summary),
        without_way=list(without_way(view.summary)),
        examples=list(map(_example, view.summary.examples)),
        many_changes=MANY_CHANGES,
        mean=mean,
        percentage=percentage,
        sections=[(section, list(map(_svg, section.plots))) for section in view.shown.sections if section.title],
        reward=_svg(_reward(curves)),
        regret=_svg(Plot("regret so far", _lines(curves, "regret"))),
    )
    with writing(path, "the report "):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")


class _Text(NamedTuple):
    """A line of an example, and its language and direction; empty for those of its own."""

    words: str
    language: str = ""
    direction: str = ""


def _example(recourse: Recourse) -> Sequence[_Text]:
    """What a person is told: the options in every language of the program's words, else in English."""
    heading, *options = str(recourse).splitlines()
    texts = [option.text for option in recourse.options if option.text]
    if not texts:
        return [_Text(heading), *map(_Text, options)]
    return [
        _Text(heading),
        *(
            _Text(f"{place}. {words}", tag, locale_of(tag).text_direction)
            for tag in texts[0]
            for place, words in enumerate((text[tag] for text in texts), 1)
        ),
    ]


def _reward(curves: Curves) -> Plot:
    lines = _lines(curves, "mer")
    longest = max(curves.values(), key=len, default=())
    lines.append(PlotLine("oracle", [point.rounds for point in longest], [point.oracle_mer for point in longest]))
    return Plot("mean expected reward so far", lines, highest=1.0)


def _lines(curves: Curves, name: str) -> list[PlotLine]:
    return [
        PlotLine(policy, [point.rounds for point in curve], [getattr(point, name) for point in curve], group)
        for group, (policy, curve) in enumerate(curves.items())
    ]


def _svg(plot: Plot) -> str:
    """A plot as an SVG element, the same for the same lines."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(plot.title, loc="left", fontsize=11)
    axes.set_xlabel(plot.x)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    for line in plot.lines:
        colour = GREY if line.group is None else COLOURS[line.group % len(COLOURS)]
        style = "--" if line.group is None else ":" if line.dotted else "-"
        axes.plot(line.x, line.y, label=line.label, color=colour, linestyle=style)
    axes.set_xlim(left=0)
    axes.set_ylim(0, plot.highest)
    axes.legend(frameon=False)
    text = StringIO()
    with mpl.rc_context({"svg.hashsalt": plot.title, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    document = text.getvalue()
    return document[document.index("<svg") :]
