"""A worker that stands still for longer than its session, and is woken when another one has its partitions."""

from __future__ import annotations

import time
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest

from onward.faults.checker import Findings, compare_outputs, compare_states, name_of
from onward.faults.demands import demands_of, met
from onward.faults.fleet import COMMAND, FENCED, Life, told
from onward.faults.people import everybody
from onward.faults.programs import write_programs
from onward.faults.reference import dump, standing, uninterrupted
from onward.schemas.specfile import load_spec
from onward.streams.journal.journal import read
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.outputs.deduplicator import Deduplicator, Verdict
from onward.streams.outputs.emission import GENERATION
from onward.streams.programs.program import assemble_all
from onward.streams.records import Record
from onward.streams.topics import Topics, plan
from onward.streams.worker.partition_processor import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

TURNS = 60
PARTITIONS = 2
ZOMBIES, SUCCESSORS = 1, 2
"""The generations of the first owner's outputs, and of the second's."""


class JournalPosition:
    """Topics, what is sent to them, and workers."""

    def __init__(self, broker, folder, partitions=PARTITIONS):
        self.folder, self.options, self.topics = folder, broker.options(), Topics(prefix=f"{broker.group}-")
        broker.create(plan(self.topics, partitions, 1))
        specs = write_programs(folder)
        self.programs = assemble_all([load_spec(path) for path in specs])
        self.environment = {
            "ONWARD_BROKERS": ",".join(self.options.brokers),
            "ONWARD_SPEC": ",".join(map(str, specs)),
            "ONWARD_TOPIC_PREFIX": self.topics.prefix,
            "ONWARD_GROUP": broker.group,
            "ONWARD_SESSION_TIMEOUT_SECONDS": "6",
            "ONWARD_CHUNK_RECORDS": "40",
            "ONWARD_TICK_SECONDS": "0",
            "ONWARD_WEB": "false",
        }

    def send(self, *topics):
        """Send what there is for these topics."""
        now_ms = time.time_ns() // 1_000_000
        turns = islice(everybody(self.topics, np.random.default_rng(5)), TURNS)
        with EventWriter(self.options) as writer:
            for sent in (planned.record(now_ms) for turn in turns for planned in turn if planned.topic in topics):
                writer.send(sent.topic, sent.value, key=sent.key, headers=sent.headers)

    def worker(self, name, *flags):
        environment = {**self.environment, "ONWARD_STATE_DIR": str(self.folder / name)}
        return Life([*COMMAND, *flags], self.folder / f"{name}.log", environment)

    def read(self, topics):
        with EventReader(self.options, topics) as reader:
            records = reader.poll(0.2)
            while not reader.caught_up:
                records += reader.poll(0.2)
        return records

    def written(self):
        return len(self.read(self.topics.outputs))

    def answered(self):
        demands = demands_of(self.programs, self.topics, self.read(self.topics.inputs))
        found = met(demands, self.topics, self.read(self.topics.outputs))
        return demands.answers and not found.missing & demands.answers.keys()

    def ledger(self, name):
        """That of the first partition."""
        return self.folder / name / f"{self.topics.journal}-0.sqlite"

    def folded(self, name):
        """Whether a worker that has the only partition has nothing left to do."""
        sent, journal = self.read(self.topics.inputs), self.read([self.topics.journal])
        journaled = {
            (*entry.source, entry.source_offset) for record in journal for entry in read(record) if entry.source
        }
        return journaled == {record[:3] for record in sent} and standing(self.ledger(name)).offset == len(journal)

    def opened(self, name):
        return sum(line["message"] == "opened ledger" for line in told(self.folder / f"{name}.log"))

    def check(self):
        findings = Findings()
        ledgers = sorted(self.folder.glob("*/*.sqlite"))
        states = {str(path): (standing(path), dump(path)) for path in ledgers}
        stops = {at for at, _ in states.values()}
        journal = self.read([self.topics.journal])
        reference = uninterrupted(self.programs, self.topics, journal, stops, self.folder / "reference")
        compare_outputs(self.read(self.topics.outputs), reference.outputs, findings)
        expected = {path: reference.dumps[at] for path, (at, _) in states.items()}
        compare_states({path: state for path, (_, state) in states.items()}, expected, findings)
        assert findings.good, str(findings)
        return findings


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this does not come"
        time.sleep(0.2)


class Overtaken(NamedTuple):
    """All outputs, in the order of their topics, and those that came when the zombie had been woken."""

    outputs: list[Record]
    late: list[Record]


def overtaken(place, point):
    """Stop a worker where it stands, wake it when another has done all that there is to do, and see it end.

    The journal has one partition: of outputs the worker has under way those of the portion that it is stopped in, and
    nothing else. Those of the portions before have told its successor which generation it is.
    """
    place.send(place.topics.applications)
    with place.worker("zombie", "--point", point, "--nth", "3", "--signal", "SIGSTOP") as zombie:
        until(lambda: zombie.stands)
        ledger = dump(place.ledger("zombie"))
        with place.worker("successor") as successor:
            place.send(place.topics.decisions, place.topics.outcomes)
            until(lambda: place.opened("successor") and place.folded("successor"))
            before, opened = set(place.read(place.topics.outputs)), place.opened("successor")
            zombie.let_go()
            until(lambda: zombie.ended)
            assert zombie.code == FENCED, zombie.last_words()
            assert "may have another owner by now" in zombie.last_words()
            assert place.opened("successor") == opened, "the zombie has joined again and called the group together"
            assert successor.finish(20) == 0, successor.last_words()
    assert dump(place.ledger("zombie")) == ledger
    outputs = place.read(place.topics.outputs)
    assert {generation(record) for record in before} == {ZOMBIES, SUCCESSORS}
    return Overtaken(outputs, [record for record in outputs if record not in before])


def generation(record):
    return int(dict(record.headers)[GENERATION])


def test_one_that_wakes_before_it_has_published_writes_nothing_more_and_ends(real, tmp_path):
    place = JournalPosition(real, tmp_path, partitions=1)
    assert not overtaken(place, Stage.COMPUTED).late
    assert place.check().duplicates == 0


def test_what_its_producer_had_comes_after_its_successors_and_is_dropped_as_stale(real, tmp_path):
    place = JournalPosition(real, tmp_path, partitions=1)
    outputs, late = overtaken(place, Stage.OUTPUTS_IN_FLIGHT)
    reader, read_as = Deduplicator(), {verdict: [] for verdict in Verdict}
    for record in outputs:
        read_as[reader.judge(record)].append(record)
    assert late
    assert {generation(record) for record in late} == {ZOMBIES}
    assert read_as[Verdict.STALE] == late
    assert not read_as[Verdict.REPEATED]
    # What is left holds every output once, and what was dropped is, but for the generation, what it holds already.
    names = [name_of(record) for record in read_as[Verdict.NEW]]
    assert len(names) == len(set(names))
    assert {name_of(record) for record in late} <= set(names)
    assert place.check().duplicates == len(late)


def test_one_that_wakes_with_nothing_under_way_joins_again(real, tmp_path):
    place = JournalPosition(real, tmp_path)
    place.send(*place.topics.inputs)
    with place.worker("zombie") as zombie:
        until(place.answered)
        zombie.hold()
        before = place.opened("zombie")
        with place.worker("successor") as successor:
            until(lambda: place.opened("successor") >= PARTITIONS)
            written = place.written()
            zombie.let_go()
            until(lambda: place.opened("zombie") > before)
            assert successor.finish(20) == 0, successor.last_words()
        until(lambda: place.opened("zombie") > before + PARTITIONS)
        assert zombie.finish(20) == 0, zombie.last_words()
    assert place.written() == written
    place.check()
