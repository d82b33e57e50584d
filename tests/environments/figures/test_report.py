"""The page of a run."""

from __future__ import annotations

import re
import shutil
import subprocess

import msgspec
import pytest

from onward.environments.figures.recording import PolicySummary, ShownAnswers, Summary
from onward.environments.figures.report import outcome_in_words, without_way, write_report
from onward.environments.figures.sections import Plot, PlotLine, RunView, Section
from onward.schemas.events import Change, NoRecourse, Option, Recourse
from onward.tests.environments.figures.test_screen import NOBODY, SHOWN

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WIDTH = 390
"""Pixels of a telephone's screen."""
SCRIPT = "<script>alert(1)</script>"


OWN = Section(
    SCRIPT, [("name", "number"), (SCRIPT, "7")], [SCRIPT], [Plot("own", [PlotLine(SCRIPT, [0, 1], [1, 2], 0)])]
)
"""A plot, a table and a line of a world."""


def test_what_people_have_sent_is_text_on_the_page(tmp_path):
    option = Option("3", (Change("region", "north", SCRIPT),), 0.2, 0.9, 1.0)
    recourse = Recourse("loan", 0, SCRIPT, 0, (option,), "protoar", "v", "s", "m")
    summary = msgspec.structs.replace(NOBODY, examples=(recourse,))
    write_report(
        tmp_path / "page.html", SCRIPT, {SCRIPT: SCRIPT}, RunView(summary, SHOWN._replace(sections=[OWN])), {SCRIPT: []}
    )
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;: 1 way forward" in page
    assert page.count("<svg") == 3
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;</td>") == 1


def answered(recourse: int, improvement: float | None, **none: int) -> Summary:
    """The summary of a run in which so many people have a way forward, and others have none for a reason."""
    examples = {reason: none_of(f"{reason} {SCRIPT}", reason) for reason in none}
    policies = {"residual": PolicySummary(0.5, improvement, 0.2, 1.0), "other": PolicySummary(0.1, 0.1, 0.2, 1.0)}
    shown = ShownAnswers("residual", recourse, none, examples)
    return msgspec.structs.replace(NOBODY, policies=policies, shown_answers=shown)


def none_of(name: str, reason: str) -> NoRecourse:
    return NoRecourse("loan", 0, name, 0, reason, f"why {reason}", "residual", "v", "s", "m")


@pytest.mark.parametrize(
    ("summary", "sentence"),
    [
        (
            answered(97, 0.89, fixed=3),
            "Of 100 rejected people 97 have a way forward; who takes it is helped in 9 of 10",
        ),
        (
            answered(1999, 0.99, fixed=1),
            "Of 100 rejected people 99 have a way forward; who takes it is helped in 9 of 10",
        ),
        (
            answered(1, 0.001, fixed=999),
            "Of 100 rejected people 1 have a way forward; who takes it is helped in 1 of 10",
        ),
        (answered(5, 1.0), "Of 100 rejected people 100 have a way forward; who takes it is helped in 10 of 10 cases."),
        (answered(0, None, fixed=2), "Of 100 rejected people 0 have a way forward."),
    ],
)
def test_a_sentence_says_who_has_a_way_and_how_often_it_helps(summary, sentence):
    told = outcome_in_words(summary)
    assert told is not None
    assert told.startswith(sentence)


def test_a_run_that_answered_nobody_says_nothing():
    assert outcome_in_words(NOBODY) is outcome_in_words(answered(0, None)) is None
    assert list(without_way(NOBODY)) == []


def test_the_page_says_who_has_no_way_and_why(tmp_path):
    summary = answered(90, 0.5, out_of_reach=3, max_changes=7)
    write_report(tmp_path / "page.html", "run", {}, RunView(summary, SHOWN), {"residual": []})
    page = (tmp_path / "page.html").read_text()
    rows = re.findall(r"<td>([\w ]+)</td><td>(\d+)</td><td class=\"words\">(.*?): (why \w+)</td>", page)
    assert [(reason, people, why) for reason, people, _, why in rows] == [
        ("max changes", "7", "why max_changes"),
        ("out of reach", "3", "why out_of_reach"),
    ]
    assert "<script" not in page
    assert page.index("Of 100 rejected people 90 have a way forward") < page.index("<table")


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_page_is_no_wider_than_the_screen_of_a_telephone(tmp_path):
    """What does not fit scrolls in its own card; the page itself does not."""
    option = Option("3", (Change("monthly_debt_payments" * 3, 1, 2, "EUR"),), 0.2, 0.9, 1.0)
    recourse = Recourse("loan", 0, "a" * 200, 0, (option,), "protoar", "v", "s", "m")
    wide = Section("own", [[f"column {number}" for number in range(20)]] * 2, ["line " * 50], [])

    shown = SHOWN._replace(sections=[OWN, wide])
    summary = msgspec.structs.replace(answered(90, 0.5, out_of_reach=3), examples=(recourse,))
    write_report(tmp_path / "page.html", "title " * 20, {"fact": "x" * 300}, RunView(summary, shown), {"residual": []})
    # The least width of a window is more than that of a telephone: the page is looked at in a frame.
    frame = f"<iframe id=f src=page.html width={WIDTH} height=800 style='border:0'></iframe>"
    script = (
        "onload = () => { document.title = document.getElementById('f').contentDocument.documentElement.scrollWidth }"
    )
    (tmp_path / "frame.html").write_text(f"<body>{frame}<script>{script}</script></body>")
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    folder = f"--user-data-dir={tmp_path / 'profile'}"
    ran = subprocess.run(
        [CHROMIUM, *flags, folder, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    [width] = re.findall(r"<title>(\d+)</title>", ran.stdout)
    assert int(width) <= WIDTH
