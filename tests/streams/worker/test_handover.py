"""Two engines on one journal partition: the older one ends by itself, and the newer one answers nobody again."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager

import pytest

from onward.schemas.events import Application
from onward.streams.engine.version import ENGINE_VERSION, EngineSpan
from onward.streams.errors import HandoverError
from onward.streams.outputs.deduplicator import HighWaterMark
from onward.streams.outputs.emission import ENGINE, OutputPosition
from onward.streams.worker.handover import check_handover
from onward.testing.pipeline import START_MS, PipelineRun, Sender
from onward.testing.program import build_program
from onward.testing.tape import POOR
from onward.tests.support.ledgers import ledger_position

NEWER = ENGINE_VERSION + 1
_WORKER = "worker.handover", "worker.partition_processor"
_KNOWING = "ledger.ledger", "journal.engine_lines", "snapshots.recovery", *_WORKER


@contextmanager
def engine(version):
    with pytest.MonkeyPatch.context() as patch:
        for module in _KNOWING:
            patch.setattr(f"onward.streams.{module}.ENGINE_VERSION", version)
        yield


class Installation:
    """A run of one program, whose people come in turn."""

    def __init__(self, folder):
        self.run, self.sender, self.people = PipelineRun({"loan": build_program()}, folder), Sender(), 0

    def come(self, people):
        for number in range(self.people, self.people + people):
            event = Application("loan", f"p{number}", dict(POOR))
            record = self.sender.record("applications", event, time_ms=START_MS + number, id=f"a{number}")
            asyncio.run(self.run.ingest([record]))
        self.people += people

    def fold(self, name):
        return asyncio.run(self.run.fold(self.journal, name=name))

    @property
    def journal(self):
        return list(self.run.broker.logs["journal", 0])

    def answers(self):
        return [record.key for record in self.run.broker.logs["recourse", 0]]


@pytest.fixture
def handed_over(tmp_path):
    """An installation whose partition a newer engine has taken over; ``before`` holds the ledger of the older one."""
    installation = Installation(tmp_path)
    installation.come(5)
    ledger = installation.fold("older")
    shutil.copytree(ledger.parent, tmp_path / "before")
    with engine(NEWER):
        installation.fold("older")
    return installation


@pytest.mark.attack
def test_an_older_engine_ends_where_the_newer_one_was_declared(handed_over, tmp_path):
    declared = len(handed_over.journal) - 1
    handed_over.come(3)
    with pytest.raises(HandoverError, match=f"from journal offset {declared} on, engine {NEWER}"):
        handed_over.fold("before")
    assert ledger_position(tmp_path / "before" / "journal-0.sqlite").offset == declared
    assert len(handed_over.answers()) == 5
    with engine(NEWER):
        handed_over.fold("older")
    assert len(handed_over.answers()) == 8


def test_an_older_engine_ends_at_its_start_where_a_newer_one_has_answered(handed_over):
    handed_over.come(1)
    with engine(NEWER):
        handed_over.fold("older")
    assert dict(handed_over.run.broker.logs["recourse", 0][-1].headers)[ENGINE].startswith(b"%d." % NEWER)
    with pytest.raises(HandoverError, match=f"engine {NEWER} of a newer version of onward has answered"):
        handed_over.fold("before")


@pytest.mark.attack
def test_a_newer_engine_that_has_lost_all_goes_on_behind_the_older_one(handed_over):
    handed_over.come(2)
    with engine(NEWER):
        handed_over.fold("older")
        published = handed_over.run.outputs()
        with pytest.raises(HandoverError, match="start that older version"):
            handed_over.fold("lost")
    with pytest.raises(HandoverError, match="from journal offset"):
        handed_over.fold("lost")
    with engine(NEWER):
        handed_over.fold("lost")
    assert handed_over.run.outputs() == published


@pytest.mark.parametrize(
    ("offset", "written", "goes_on"),
    [
        (0, None, True),
        (10, (9, 0, 0), True),
        (10, (10, 0, 0), False),
        (10, (99, ENGINE_VERSION, 10), True),
        (10, (99, ENGINE_VERSION, 11), False),
        (0, (99, ENGINE_VERSION, 0), True),
        (0, (0, ENGINE_VERSION - 1, 0), False),
        (10, (3, NEWER, 3), False),
        (2, (30, NEWER, 3), True),
    ],
)
def test_a_ledger_goes_on_where_no_output_from_there_on_is_another_engines(offset, written, goes_on):
    mark = (
        HighWaterMark()
        if written is None
        else HighWaterMark(OutputPosition(written[0], 0), 1, EngineSpan(*written[1:]))
    )
    marks = {"recourse": mark, "rewards": HighWaterMark()}
    if goes_on:
        check_handover("ledger L", offset, marks)
    else:
        with pytest.raises(HandoverError, match=r"upgrade\.md"):
            check_handover("ledger L", offset, marks)
