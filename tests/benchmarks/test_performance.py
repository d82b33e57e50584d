"""Every figure of speed in the docs comes from one run of a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from onward.benchmarks import face
from onward.benchmarks.face import Row
from onward.benchmarks.performance import (
    MEASURED,
    PAGE,
    ROOT,
    RUNS,
    Args,
    Measured,
    Record,
    page_of,
    performance,
    read_record,
    shown_value,
)
from onward.streams.errors import UsageError

SPEED = re.compile(r"(\d[\d,.]*)[ -]?(us|µs|ms|microseconds|milliseconds|(?:applications )?(?:a|per) CPU-second)\b")
"""A figure of speed: what something takes of the processor or the clock, or how many of it fit in a second of it."""


def speeds(text: str) -> Iterator[str]:
    """The figures of speed in a text, without its code."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    yield from (figure.rstrip(".,") for figure, _ in SPEED.findall(prose))


def test_figures_of_speed_are_found() -> None:
    assert list(speeds("It takes 4.5 us, or 1,200 µs; 3 ms. `9 ms` is code. 7,481 applications per CPU-second.")) == [
        *("4.5", "1,200", "3", "7,481")
    ]


def test_the_page_is_what_the_command_writes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_of(read_record(), text) == text, "write the figures anew: make performance"


def test_no_page_has_a_figure_of_speed_that_was_not_measured_with_the_others() -> None:
    measured = {shown_value(row.value) for run in read_record().runs.values() for row in run.rows}
    pages = [
        ROOT / "README.md",
        PAGE,
        *(page for page in (ROOT / "docs").rglob("*.md") if MEASURED not in page.parents),
    ]
    strange = {
        page.relative_to(ROOT): found for page in pages if (found := set(speeds(page.read_text("utf-8"))) - measured)
    }
    assert not strange


def test_a_missed_aim_and_both_shapes_of_rows_are_shown() -> None:
    listed = Measured("python x", [Row("onward, by CPU", 1234.5, "/s", 2000.0, 4000.0)])
    paired = Measured(
        "python y", [Row("title; credit; alone", 56.78, "us"), Row("title; german; in blocks", 0.1234, "us")]
    )
    runs = {run.title: paired if run.name == "options" else listed for run in RUNS}
    shown = page_of(Record("abc", "def", "3.11", "2 cores", runs), PAGE.read_text(encoding="utf-8"))
    assert "| onward, by CPU | 1,234 /s | 2,000 | at least 4,000: missed |" in shown
    assert "|  | alone | in blocks |" in shown
    assert "| credit | 56.8 |  |" in shown
    assert "| german |  | 0.123 |" in shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--runs", "nothing"), "--runs nothing: there are first_answer"),
        (("--runs", "options"), "say beside which checkout with --against"),
        (("--runs", "first_answer"), "say where the data sets are with --data"),
    ],
)
def test_a_run_that_lacks_something_says_what(given: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        list(performance(face.parse(Args, None, list(given))))


@pytest.mark.slow
def test_the_rows_of_a_run_are_told_with_its_name() -> None:
    rows = list(performance(face.parse(Args, None, ["--quick", "--runs", "reasons"])))
    assert "reasons: logistic regression: a rejected person" in {row.name for row in rows}
