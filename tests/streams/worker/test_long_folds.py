"""What a worker does while it folds: a fold may take minutes, and the rest of the worker goes on."""

from __future__ import annotations

import asyncio
from threading import Event

import aiohttp
import pytest

from onward.streams import threads
from onward.streams.metrics import Metrics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.streams.worker.readiness import Readiness
from onward.streams.worker.web import make_app, serve
from onward.testing.ledger import rows
from onward.testing.pipeline import no_clock
from onward.testing.program import IncomeModel
from onward.testing.tape import JOURNAL, tape
from onward.tests.support.kafka_handlers import until
from onward.tests.support.ledgers import cases

LONG_SECONDS = 60
"""How long a fold waits to be let go on. A fold that holds the event loop waits in vain."""


class SlowModel(IncomeModel):
    """A model that scores nobody before it is let go on."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.waited_in_vain = Event(), Event(), False

    def score(self, X):
        self.begun.set()
        self.waited_in_vain |= not self.go_on.wait(LONG_SECONDS)
        return super().score(X)


@pytest.fixture
def model() -> SlowModel:
    return SlowModel()


@pytest.fixture
def story(tmp_path, model):
    """A journal with one person."""
    model.go_on.set()
    story = tape(tmp_path, model=model)
    story.applies("x")
    model.go_on.clear()
    model.begun.clear()
    return story


def worker(story) -> PartitionProcessor:
    run = story.run
    config = ProcessorConfig(run.directory / "state")
    return PartitionProcessor(run.topics, run.programs, run.broker, Metrics(), no_clock, config)


async def begun(model: SlowModel) -> None:
    assert await asyncio.to_thread(model.begun.wait, LONG_SECONDS)


async def test_the_pages_answer_during_a_fold(story, model):
    processor = worker(story)
    await processor.assigned([JOURNAL])
    handling = asyncio.ensure_future(processor.handle(list(story.journal)))
    await begun(model)
    app = make_app(Metrics(), lambda: Readiness(True))
    async with serve(app, "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
        answer = await session.get(f"http://127.0.0.1:{port}/healthz")
        assert answer.status == 200
    model.go_on.set()
    await handling
    assert not model.waited_in_vain
    await processor.revoked([JOURNAL])
    assert [answer.application for answer in story.answers()] == ["x"]


async def test_a_long_fold_is_logged_while_it_goes_on(story, model, monkeypatch, caplog):
    monkeypatch.setattr(threads, "REPORT_SECONDS", 0.001)
    caplog.set_level("INFO", "onward")
    processor = worker(story)
    await processor.assigned([JOURNAL])
    handling = asyncio.ensure_future(processor.handle(list(story.journal)))
    await begun(model)
    await until(lambda: caplog.messages.count("still at work: fold the journal") > 1)
    model.go_on.set()
    await handling
    await processor.revoked([JOURNAL])
    caplog.clear()
    await asyncio.sleep(0.01)
    assert caplog.messages == []


async def test_what_is_not_committed_yet_is_not_shown(story, model):
    processor = worker(story)
    await processor.assigned([JOURNAL])
    handling = asyncio.ensure_future(processor.handle(list(story.journal)))
    await begun(model)
    assert await processor.assigned([JOURNAL]) == {JOURNAL: 0}
    assert processor.unfinished_partitions == set()
    model.go_on.set()
    await handling
    assert await processor.assigned([JOURNAL]) == {JOURNAL: len(story.journal)}
    await processor.revoked([JOURNAL])


async def test_a_fold_that_is_given_up_ends_before_its_ledger_is_closed_and_commits_nothing(story, model):
    processor = worker(story)
    await processor.assigned([JOURNAL])
    handling = asyncio.ensure_future(processor.handle(list(story.journal)))
    await begun(model)
    for _ in range(3):
        handling.cancel()
        await asyncio.sleep(0)
    assert not handling.done()
    model.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await handling
    assert not model.waited_in_vain
    await processor.revoked([JOURNAL])
    ledger = story.run.directory / "state" / "journal-0.sqlite"
    assert cases(ledger) == []
    assert rows(ledger, "SELECT value FROM meta WHERE name = 'offset'") == [(0,)]
    assert story.answers() == []
