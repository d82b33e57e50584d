"""A review of a program on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from ....agents.promises import whole_percent
from ...printable import printable
from ...review.report import FeatureUse, Review, worst
from .tables import numbers, table, words
from .words import counted

MOST_TOLD = 3
"""Suspicions that a command tells which was asked for something else."""


def print_review(review: Review, csv: Path, *, as_json: bool) -> None:
    """Print a review as a table and lines, the suspicions last; or as one JSON object."""
    if as_json:
        print(msgspec.json.encode(review).decode())
        return
    console = Console()
    for line in _counts(review, csv):
        console.out(printable(line), highlight=False)
    if review.features:
        console.print(_uses(review))
    for example in review.examples:
        console.out(printable(f"{example.person}:"), highlight=False)
        for text in example.texts:
            console.out(printable(f"  {'' if example.is_none else '- '}{text}"), highlight=False)
    found = len(review.suspicions)
    console.out(f"\n{counted(found, 'suspicion')}{':' if found else ''}", highlight=False)
    for suspicion in review.suspicions:
        console.out(printable(str(suspicion)), highlight=False)


def _counts(review: Review, csv: Path) -> Iterator[str]:
    yield f"{review.program}: model {review.model} rejects {review.rejected:,} of the {review.rows:,} rows of {csv}"
    if review.unlabelled:
        yield f"{counted(review.unlabelled, 'row')} left out: the label is not given: nothing is said of these people"
    if review.note:
        yield review.note
        return
    none = sum(review.none.values())
    reasons = ", ".join(f"{reason}: {count}" for reason, count in review.none.items())
    yield (
        f"{review.sample:,} of them would be told {counted(review.options, 'option')}; {none:,} have none"
        + (f" ({reasons})" if reasons else "")
    )
    if review.fragile:
        yield f"{review.fragile:,} options are rejected when somebody does more than asked; they say where to stop"
    if review.lasting is not None:
        yield f"models of other rows accept {whole_percent(review.lasting)} of the options, as training has measured it"


def _uses(review: Review) -> Table:
    columns = numbers("options", "people", "only way of", "median change", "largest", form="")
    rows = ((use.name, use.options, use.told, use.only, *_far(use)) for use in review.features)
    return table(None, (words("feature"), *columns), rows)


def _far(use: FeatureUse) -> tuple[str, str]:
    """By how much a feature changes: the median and the most; of categories the most frequent change."""
    if use.median is None or use.most is None:
        return use.example or "", ""
    unit = "" if use.unit is None else f" {use.unit}"
    return f"{use.median:+,.6g}{unit}", f"{use.most:+,.6g}{unit}"


def worst_lines(review: Review) -> list[str]:
    """The gravest suspicions, a line each; none where there are none."""
    return [printable(f"suspicious: {suspicion}") for suspicion in worst(review.suspicions, MOST_TOLD)]
