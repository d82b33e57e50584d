"""The page of a run."""

from __future__ import annotations

import msgspec

from onward.schemas.events import Change, Option, Recourse
from onward.streams.cli.display.report import write_report
from onward.streams.cli.display.summary import View
from onward.streams.cli.worlds.contract import Figures
from onward.streams.cli.worlds.sections import Line, Plot, Section
from onward.tests.streams.cli.display.test_summary import NOBODY

SCRIPT = "<script>alert(1)</script>"


class Own(Figures):
    """A world that shows a plot, a table and a line."""

    def sections(self):
        plot = Plot("own", [Line(SCRIPT, [0, 1], [1, 2], 0)])
        return [Section(SCRIPT, [("name", "number"), (SCRIPT, "7")], [SCRIPT], [plot])]


def test_what_people_have_sent_is_text_on_the_page(tmp_path):
    option = Option("3", (Change("region", "north", SCRIPT),), 0.2, 0.9, 1.0)
    recourse = Recourse("loan", 0, SCRIPT, 0, (option,), "protoar", "v", "s", "m")
    summary = msgspec.structs.replace(NOBODY, examples=(recourse,))
    write_report(tmp_path / "page.html", SCRIPT, {SCRIPT: SCRIPT}, View(summary, Own(5)), {SCRIPT: []})
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;: 1 way forward" in page
    assert page.count("<svg") == 3
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;</td>") == 1
