"""An added kind of event needs one table entry and one handler: those of docs/how-to/add-an-input.md.

Its code lets people withdraw, which is confirmed ten minutes later.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from onward.schemas.kinds import kinds
from onward.streams.cli.display.happenings import in_words
from onward.streams.engine import handlers
from onward.streams.engine.cases import Status
from onward.streams.engine.metrics import OBSERVATIONS
from onward.streams.replay.history import History
from onward.streams.worker.stages import Stage
from onward.testing.tape import MINUTE_MS, TIMED, tape
from onward.tests.support.example_methods import OWN
from onward.tests.support.forked_process import ForkedProcess, script
from onward.tests.support.ledgers import cases

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add-an-input.md"
MODULE, LAUNCHER = "withdrawals", "with_withdrawals"


class CrashError(Exception):
    """A worker ends here."""


def page_code() -> tuple[str, str]:
    """The code of the module, which is that of the page, and of the file that runs the command with it."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    *module, launcher = blocks
    assert launcher.startswith(f"# {LAUNCHER}.py\n")
    code = (OWN / f"{MODULE}.py").read_text(encoding="utf-8")
    assert not [block for block in module if block not in code]
    return code, launcher


@pytest.fixture
def withdrawals() -> Iterator[SimpleNamespace]:
    """What the module of the page defines, while it is in use."""
    found: dict[str, object] = {"__name__": MODULE}
    before = set(handlers.handlers), set(handlers.timer_handlers)
    exec(page_code()[0], found)
    yield SimpleNamespace(**found)
    for table, known in zip((handlers.handlers, handlers.timer_handlers), before, strict=True):
        handlers.discard(*[handler for kind, handler in table.items() if kind not in known])
    kinds.discard(kinds["withdrawal"], kinds["confirmation"])
    del OBSERVATIONS["withdrawals"]


@pytest.fixture
def story(tmp_path, withdrawals):
    return tape(tmp_path, **TIMED)


def withdraws(story, name, ms, id=None):
    withdrawal = kinds["withdrawal"].structs[0]
    return story.send("withdrawals", withdrawal("loan", name), ms, id or f"w-{name}")


def confirmations(story):
    confirmation = kinds["confirmation"].structs[0]
    return [event.application for event in story.run.events("confirmations", confirmation)]


def test_a_withdrawal_reaches_its_output_topic(story, withdrawals):
    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    story.tick(12 * MINUTE_MS)
    story.fold()
    [output] = story.run.broker.logs["confirmations", 0]
    headers = dict(output.headers)
    assert confirmations(story) == ["p0"]
    assert headers["ce_type"] == b"onward.confirmation.v1"
    assert headers["onward_position"]
    assert msgspec.json.decode(output.value, type=withdrawals.Confirmation) == withdrawals.Confirmation("loan", "p0")


def test_a_repeat_is_dropped(story):
    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    withdraws(story, "p0", 2 * MINUTE_MS)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == ["p0"]


def test_a_record_appended_twice_is_dropped(story):
    story.applies("p0")
    record = withdraws(story, "p0", MINUTE_MS)
    story.again(record)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == ["p0"]


def test_a_withdrawal_waits_for_its_application(story):
    withdraws(story, "p0", 0)
    story.applies("p0", MINUTE_MS)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == ["p0"]
    assert story.reasons() == []


def test_a_withdrawal_without_application_is_a_dead_letter(story):
    withdraws(story, "nobody", 0)
    story.applies("p0", MINUTE_MS)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == []
    assert story.reasons() == ["withdrawal_without_application"]


def test_it_is_part_of_an_application_s_history_whatever_comes_at_the_same_time(story):
    sent = [story.applies("p0"), withdraws(story, "p0", 0), story.outcome("p0", 0)]
    story.tick(12 * MINUTE_MS)
    story.fold()
    history = History("p0", "loan", story.run.topics)
    records = [record for log in story.run.broker.logs.values() for record in log]
    for record in [*records, *sent]:
        history.feed(record)
    told = [happening.kind for happening in history.happenings]
    assert told == ["application", "model-decision", "recourse", "outcome", "reward", "withdrawal", "confirmation"]
    [words] = in_words(history.happenings[5], {})
    assert "withdrawal     withdrawals/0@0" in words


def test_a_withdrawal_timer_survives_a_restart(story):
    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    before = len(story.journal)
    story.tick(5 * MINUTE_MS)
    story.tick(12 * MINUTE_MS)
    story.fold(parts=[story.journal[:before], story.journal[before:]])
    assert confirmations(story) == ["p0"]


def test_a_confirmation_that_was_published_before_a_crash_is_not_published_again(story):
    def crash(stage):
        if stage is Stage.OUTPUTS_ACKNOWLEDGED:
            raise CrashError

    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    story.tick(12 * MINUTE_MS)
    with pytest.raises(CrashError):
        asyncio.run(story.folded("ledger", [story.journal], crash))
    assert confirmations(story) == ["p0"]
    story.fold()
    assert confirmations(story) == ["p0"]


def test_a_topic_with_clocks_changes_what_becomes_of_a_journal_from_before_it(story, withdrawals):
    def fate(ledger):
        [case] = cases(story.fold(ledger))
        return case.status

    story.applies("p0")
    story.tick(60 * MINUTE_MS)
    assert fate("without") is Status.CENSORED
    kinds.discard(withdrawals.WITHDRAWAL)
    kinds.add(replace(withdrawals.WITHDRAWAL, clocks=frozenset({"model"})))
    assert fate("with clocks") is Status.OPEN, "the window waits for the new topic too"
    story.tick(61 * MINUTE_MS)
    assert fate("with clocks and a tick") is Status.CENSORED


def test_the_files_of_the_page_run_as_the_command(tmp_path):
    code, launcher = page_code()
    (tmp_path / f"{MODULE}.py").write_text(code)
    (tmp_path / f"{LAUNCHER}.py").write_text(launcher)
    with ForkedProcess(script, [str(tmp_path / f"{LAUNCHER}.py"), "--version"], tmp_path / "log", {}) as done:
        assert done.wait() == 0, done.last_line()
    [line] = (tmp_path / "log").read_text().splitlines()
    assert line.startswith("onward ")
