"""A worker that is suspended for longer than its session, and resumed when another one has its partitions."""

from __future__ import annotations

import time
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest

from onward.streams.journal.lines import read_entries as read
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.outputs.deduplicator import Classification, Deduplicator
from onward.streams.outputs.emission import GENERATION
from onward.streams.programs.assembly import assemble_all
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record
from onward.streams.topics import Topics, plan
from onward.streams.worker.stages import Stage
from onward.testing.ledger import dump
from onward.tests.faults.suite.check.checker import Findings, compare_outputs, compare_states, name_of
from onward.tests.faults.suite.check.expected_outputs import ANSWER, expected_outputs, observe_outputs
from onward.tests.faults.suite.check.reference_run import reference_run
from onward.tests.faults.suite.environment import read_to_end
from onward.tests.faults.suite.load.applicants import applicant_turns
from onward.tests.faults.suite.workers.process import COMMAND, FENCED, OPENED, WorkerProcess, log_entries
from onward.tests.support.ledgers import ledger_position
from onward.tests.support.programs import write_programs

pytestmark = pytest.mark.kafka

TURNS = 60
PARTITIONS = 2
ZOMBIES, SUCCESSORS = 1, 2
"""The generations of the outputs of the first owner and of the second."""


class Takeover:
    """Topics, their inputs, and the workers that take them over from each other."""

    def __init__(self, broker, folder, partitions=PARTITIONS):
        self.folder, self.options, self.topics = folder, broker.options(), Topics(prefix=f"{broker.group}-")
        broker.create(plan(self.topics, partitions, 1))
        specs = write_programs(folder)
        self.programs = assemble_all([load_program_spec(path) for path in specs])
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
        """Send the inputs of these topics."""
        now_ms = time.time_ns() // 1_000_000
        turns = islice(applicant_turns(self.topics, np.random.default_rng(5)), TURNS)
        with EventWriter(self.options) as writer:
            for sent in (planned.record(now_ms) for turn in turns for planned in turn if planned.topic in topics):
                writer.send(sent.topic, sent.value, key=sent.key, headers=sent.headers)

    def worker(self, name, *flags):
        environment = {**self.environment, "ONWARD_STATE_DIR": str(self.folder / name)}
        return WorkerProcess([*COMMAND, *flags], self.folder / f"{name}.log", environment)

    def read(self, topics):
        with EventReader(self.options, topics) as reader:
            return read_to_end(reader)

    def written(self):
        return len(self.read(self.topics.outputs))

    def answered(self):
        """Return whether everybody has an answer, but those who may wait for a deadline: none passes without ticks."""
        expected = expected_outputs(self.programs, self.topics, self.read(self.topics.inputs))
        found = observe_outputs(expected, self.topics, self.read(self.topics.outputs))
        asking = tuple(f"{ANSWER}{name}/" for name, program in self.programs.items() if program.asks)
        required = {name for name in expected.answers if not name.startswith(asking)}
        return required and not found.missing & required

    def ledger(self, name):
        """Return the ledger of the first partition."""
        return self.folder / name / f"{self.topics.journal}-0.sqlite"

    def folded(self, name):
        """Return whether the owner of the only partition has processed all inputs."""
        sent, journal = self.read(self.topics.inputs), self.read([self.topics.journal])
        journaled = {
            (*entry.source, entry.source_offset) for record in journal for entry in read(record) if entry.source
        }
        is_journaled = journaled == {record[:3] for record in sent}
        return is_journaled and ledger_position(self.ledger(name)).offset == len(journal)

    def opened(self, name):
        return sum(entry["message"] == OPENED for entry in log_entries(self.folder / f"{name}.log"))

    def check(self):
        findings = Findings()
        ledgers = sorted(self.folder.glob("*/*.sqlite"))
        states = {str(path): (ledger_position(path), dump(path)) for path in ledgers}
        positions = {position for position, _ in states.values()}
        journal = self.read([self.topics.journal])
        inputs = self.read(self.topics.inputs)
        reference = reference_run(self.programs, self.topics, journal, positions, self.folder / "reference", inputs)
        compare_outputs(self.read(self.topics.outputs), reference.outputs, findings)
        expected = {path: reference.dumps[position] for path, (position, _) in states.items()}
        compare_states({path: state for path, (_, state) in states.items()}, expected, findings)
        assert findings.is_clean, str(findings)
        return findings


def wait_until(condition):
    while not condition():
        time.sleep(0.2)


class Overtaken(NamedTuple):
    """All outputs, in the order of their topics, and those that were written after the zombie was resumed."""

    outputs: list[Record]
    late: list[Record]


def overtaken(takeover, point):
    """Suspend a worker at a point, resume it when its successor has processed everything, and wait until it ends.

    The journal has one partition, so that only the outputs of one portion are in flight. The successor has its
    generation from the outputs of the portions before.
    """
    takeover.send(takeover.topics.applications)
    with takeover.worker("zombie", "--point", point, "--nth", "3", "--signal", "SIGSTOP") as zombie:
        wait_until(lambda: zombie.is_suspended)
        ledger = dump(takeover.ledger("zombie"))
        with takeover.worker("successor") as successor:
            takeover.send(takeover.topics.decisions, takeover.topics.outcomes)
            wait_until(lambda: takeover.opened("successor") and takeover.folded("successor"))
            before, opened = set(takeover.read(takeover.topics.outputs)), takeover.opened("successor")
            zombie.resume()
            wait_until(lambda: zombie.has_ended)
            assert zombie.exit_code == FENCED, zombie.last_line()
            assert "may have another owner by now" in zombie.last_line()
            assert takeover.opened("successor") == opened, "the zombie has joined again and called the group together"
            assert successor.terminate(20) == 0, successor.last_line()
    assert dump(takeover.ledger("zombie")) == ledger
    outputs = takeover.read(takeover.topics.outputs)
    assert {generation(record) for record in before} == {ZOMBIES, SUCCESSORS}
    return Overtaken(outputs, [record for record in outputs if record not in before])


def generation(record):
    return int(dict(record.headers)[GENERATION])


def test_a_zombie_that_had_not_published_writes_nothing_more_and_ends(real, tmp_path):
    takeover = Takeover(real, tmp_path, partitions=1)
    assert not overtaken(takeover, Stage.COMPUTED).late
    assert takeover.check().duplicates == 0


def test_outputs_that_were_in_flight_arrive_after_the_successors_and_are_dropped_as_stale(real, tmp_path):
    takeover = Takeover(real, tmp_path, partitions=1)
    outputs, late = overtaken(takeover, Stage.OUTPUTS_IN_FLIGHT)
    reader, read_as = Deduplicator(), {verdict: [] for verdict in Classification}
    for record in outputs:
        read_as[reader.classify(record)].append(record)
    assert late
    assert {generation(record) for record in late} == {ZOMBIES}
    assert read_as[Classification.STALE] == late
    assert not read_as[Classification.REPEATED]
    # The new records hold every output once; the dropped ones differ from them in the generation only.
    names = [name_of(record) for record in read_as[Classification.NEW]]
    assert len(names) == len(set(names))
    assert {name_of(record) for record in late} <= set(names)
    assert takeover.check().duplicates == len(late)


def test_a_zombie_with_nothing_in_flight_joins_again(real, tmp_path):
    takeover = Takeover(real, tmp_path)
    takeover.send(*takeover.topics.inputs)
    with takeover.worker("zombie") as zombie:
        wait_until(takeover.answered)
        zombie.suspend()
        before = takeover.opened("zombie")
        with takeover.worker("successor") as successor:
            wait_until(lambda: takeover.opened("successor") >= PARTITIONS)
            written = takeover.written()
            zombie.resume()
            wait_until(lambda: takeover.opened("zombie") > before)
            assert successor.terminate(20) == 0, successor.last_line()
        wait_until(lambda: takeover.opened("zombie") > before + PARTITIONS)
        assert zombie.terminate(20) == 0, zombie.last_line()
    assert takeover.written() == written
    takeover.check()
