"""Cases in which a fold could go wrong and nobody notice: same names, same ids, second verdicts, other journals."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from onward.schemas.events import Application, Model
from onward.streams.errors import LedgerError, ModelError
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.programs.program import Program
from onward.streams.records import TopicPartition
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, PipelineRun, Sender
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, JOURNAL, MINUTE_MS, POOR, RICH, TIMED, Tape, tape

pytestmark = pytest.mark.usefixtures("crashes")


def two_programs(tmp_path, **options):
    return Tape(PipelineRun({name: build_program(name, **options) for name in ("a", "b")}, tmp_path))


def test_no_two_outputs_have_one_name_whatever_senders_call_theirs(tmp_path):
    story = tape(tmp_path, **TIMED)
    for name, id in (("nobody", "1"), ("nobody2", "1"), ("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c")):
        story.outcome(name, 0, id=id)
    story.tick(DAY_MS)
    story.fold()
    names = [dict(record.headers)["ce_id"] for record in story.run.broker.logs["rewards", 0]]
    assert len(names) == len(set(names)) == 5


def test_a_dangling_outcome_hides_no_other_program_s_outcome_of_the_same_id(tmp_path):
    story = two_programs(tmp_path)
    story.applies("x", program="b")
    story.applies("rich", features=RICH, program="a")
    story.outcome("rich", 0, id="1", program="a")
    story.outcome("x", 0, id="1", program="b")
    story.fold()
    assert story.fates() == [("rich", "dangling"), ("x", "rewarded")]


@pytest.mark.parametrize("application", ["first", "last"])
def test_a_refused_event_is_refused_once_whatever_came_first(tmp_path, application):
    story = tape(tmp_path, decisions="external", **TIMED)
    if application == "first":
        story.applies("x")
    for name in ("d-x", "other", "other"):
        story.decides("x", 0, id=name)
    for name in ("o-x", "other", "other"):
        story.outcome("x", 0, id=name)
    if application == "last":
        story.applies("x")
    story.tick(DAY_MS)
    story.fold()
    assert story.reasons() == ["already_decided", "already_has_outcome"]


@pytest.mark.parametrize("application", ["first", "last"])
def test_a_decision_before_its_time_is_refused_once_whatever_came_first(tmp_path, application):
    story = tape(tmp_path, decisions="external", **TIMED)
    if application == "first":
        story.applies("x", 20 * MINUTE_MS)
    story.decides("x", 0)
    story.decides("x", 0)
    if application == "last":
        story.applies("x", 20 * MINUTE_MS)
    story.tick(DAY_MS)
    story.fold()
    assert story.reasons() == ["decision_without_application"]


def test_a_decision_may_take_longer_than_closed_cases_are_remembered(tmp_path):
    story = tape(tmp_path, decisions="external", candidates=1)
    story.applies("x")
    story.applies("y")
    story.tick(365 * DAY_MS)
    story.decides("x", 0)
    story.tick(365 * DAY_MS + 1)
    story.decides("y", 0)
    story.tick(366 * DAY_MS)
    story.fold()
    assert [answer.application for answer in story.answers()] == ["x"]
    assert story.reasons() == ["decision_without_application"]


def test_a_name_used_again_while_its_first_window_is_open_ties_with_nothing(tmp_path):
    story = tape(tmp_path, window={"time": "P90D"})
    story.applies("x")
    story.outcome("x", MINUTE_MS)
    story.tick(40 * DAY_MS)
    story.applies("x", MINUTE_MS)
    story.tick(100 * DAY_MS)
    story.fold()
    assert len(story.answers()) == 2


def test_windows_close_before_what_waits_is_given_up(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.outcome("nobody", 0)
    story.tick(DAY_MS)
    story.fold()
    assert story.fates() == [("x", "censored"), ("nobody", "dangling")]


# --- a record appended twice, judged twice ---


class Reading:
    """Ingest, reading the same records again and again, each time with a clock and a model of its own."""

    def __init__(self, programs, width):
        self.run = PipelineRun(programs, directory=None, broker=MemoryBroker(width))

    async def append(self, record, now_ms):
        run = self.run
        ingest = Ingest(run.topics, run.programs, run.broker, Metrics(), lambda: now_ms)
        await ingest.assigned([TopicPartition(record.topic, 0)])
        await ingest.handle([record])

    async def fold(self, directory):
        run = self.run
        processor = PartitionProcessor(
            run.topics, run.programs, run.broker, Metrics(), lambda: 0, ProcessorConfig(directory)
        )
        places = [TopicPartition(run.topics.journal, partition) for partition in range(run.broker.width)]
        await processor.assigned(places)
        for place in places:
            await processor.handle(run.broker.logs[place])
        await processor.revoked(places)

    def published(self, topic):
        return [record for place in range(self.run.broker.width) for record in self.run.broker.logs[topic, place]]


def test_the_first_verdict_stands_when_the_clock_would_give_another(tmp_path):
    for name in ("x", "y", "z", "w"):
        reading = Reading({"loan": build_program(shards=3)}, width=3)
        record = Sender().record("applications", Application("loan", name, POOR), time_ms=START_MS + DAY_MS + 1, id="1")
        for now_ms in (START_MS, START_MS + MINUTE_MS):
            asyncio.run(reading.append(record, now_ms))
        asyncio.run(reading.fold(tmp_path / name))
        assert len(reading.published("dead-letters")) == 1
        assert reading.published("recourse") == []


def test_a_model_that_loads_at_the_second_attempt_stays_refused_for_every_shard(tmp_path, monkeypatch):
    program = build_program(shards=8)
    second = replace(program.bundle, version="v2", manifest_sha256="3" * 64)
    results = iter([ModelError("not there yet"), *[second] * 20])

    def load(self, manifest, sha256):
        found = next(results)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(Program, "load", load)
    reading = Reading({"loan": program}, width=3)
    sender = Sender()
    event = sender.record("models", Model("loan", "v2", "anywhere", "3" * 64), time_ms=START_MS, id="model")
    for _ in range(2):
        asyncio.run(reading.append(event, START_MS))
    for number in range(9):
        person = sender.record(
            "applications", Application("loan", f"p{number}", POOR), time_ms=START_MS, id=f"{number}"
        )
        asyncio.run(reading.append(person, START_MS))
    asyncio.run(reading.fold(tmp_path))
    assert len(reading.published("dead-letters")) == 1
    assert {b'"model":"v1"' in record.value for record in reading.published("recourse")} == {True}


# --- restarts ---


def test_a_restarted_worker_goes_on_with_the_newest_model(tmp_path, monkeypatch):
    story = tape(tmp_path)
    second = replace(story.run.programs["loan"].bundle, version="v2", manifest_sha256="3" * 64)
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: second)
    story.send("models", Model("loan", "v2", "anywhere", "3" * 64), 0, "model")
    story.applies("x")
    story.fold(parts=[story.journal[:-1], story.journal[-1:]])
    assert [answer.model for answer in story.answers()] == ["v2"]


def test_a_ledger_made_anew_after_a_program_was_added_is_the_same_for_the_others(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("x")
    story.applies("y", 60 * MINUTE_MS)
    story.outcome("nobody", 60 * MINUTE_MS)
    story.outcome("x", 20 * MINUTE_MS)
    story.fold("kept")
    first = story.fates()
    story.run.broker = MemoryBroker(logs=story.run.broker.logs.__class__(list, {(*JOURNAL,): story.journal}))
    story.run.programs = {**story.run.programs, "new": build_program("new", decisions="external", **TIMED)}
    story.fold("made anew")
    assert story.fates() == first == [("x", "censored"), ("x", "late")]


def test_a_ledger_goes_on_only_with_the_spec_it_was_written_with(tmp_path):
    story = tape(tmp_path)
    story.applies("x")
    story.fold()
    story.run.programs = {"loan": build_program(shards=2)}
    with pytest.raises(LedgerError, match=r"program 'loan' of ledger .* cannot go on with this spec: shards cannot"):
        story.fold(parts=[[]])


def test_outputs_of_another_journal_are_not_taken_for_one_s_own(tmp_path):
    story = tape(tmp_path)
    for name in ("x", "y", "z"):
        story.applies(name)
    story.fold()
    other = tape(tmp_path / "other")
    other.applies("x")
    for topic in other.run.topics.outputs:
        other.run.broker.logs[topic, 0] = story.run.broker.logs[topic, 0]
    with pytest.raises(LedgerError, match="another journal's"):
        other.fold()
