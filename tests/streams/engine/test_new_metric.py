"""The metrics of docs/how-to/add-a-metric.md are counted, exposed, listed and shown as the page has it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from onward.deploy.generate import page_tables
from onward.deploy.grafana import board
from onward.streams.engine import metrics
from onward.streams.engine.metrics import OBSERVATIONS
from onward.streams.engine.rewards import outcome
from onward.testing.tape import MINUTE_MS, TIMED, tape
from onward.tests.support.exposition import expose

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "add-a-metric.md").read_text(encoding="utf-8")
DECLARATION, CALL, PANEL = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TITLES = {"Timely outcomes", "Outcome options"}


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the metrics: the lines of the page where it says."""
    for name, observation in eval(f"{{{DECLARATION}}}", vars(metrics)).items():
        monkeypatch.setitem(OBSERVATIONS, name, observation)
    function, line = re.search(r"In `(\w+)` of `streams/[\w/.]+`, before the line\s`(.*?)`:", PAGE).groups()
    source = inspect.getsource(getattr(outcome, function))
    assert source.count(line) == 1
    monkeypatch.setattr(outcome, function, None)
    exec(re.sub(rf"^ +{re.escape(line)}", lambda found: CALL + found[0], source, flags=re.MULTILINE), vars(outcome))


def test_a_worker_exposes_what_it_has_counted(tmp_path: Path) -> None:
    story = tape(tmp_path, **TIMED)
    for name, result in (("ada", "improved"), ("bob", "improved"), ("eve", "not_improved")):
        story.applies(name)
        story.outcome(name, MINUTE_MS, result)
    text = expose(story.run).owned
    assert 'onward_timely_outcomes_total{program="loan",result="improved"} 2.0' in text
    assert 'onward_timely_outcomes_total{program="loan",result="not_improved"} 1.0' in text
    assert 'onward_outcome_options_bucket{le="1.0",program="loan"} 3.0' in text
    assert 'onward_outcome_options_sum{program="loan"} 3.0' in text


def test_the_reference_has_them() -> None:
    [table] = [text for path, text in page_tables.pages().items() if path.name == "metrics.md"]
    for metric in ("timely_outcomes_total` | counter | `program`, `result` |", "outcome_options` | histogram |"):
        assert f"\n| `onward_{metric}" in table


def test_the_board_has_a_panel_for_each_until_there_is_a_better_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def others() -> set[str]:
        return {panel.title for panel in board.rows()[board.OTHERS]} & TITLES

    assert others() == TITLES
    better = (*board.ROWS["Learning"], *eval(f"({PANEL})", vars(board)))
    monkeypatch.setitem(board.ROWS, "Learning", better)
    assert others() == TITLES - {"Timely outcomes"}
