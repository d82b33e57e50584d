"""A worker that is killed repeatedly loses nothing, writes nothing that conflicts, and ends in the ledger of a run
without faults over the same journal."""

from __future__ import annotations

import signal
import time
from itertools import product
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from onward.schemas.events import Acted, Answer, Application, Outcome
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.journal.lines import read_entries as read
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.programs.assembly import assemble_all
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.topics import Topics, plan
from onward.testing.ledger import dump
from onward.tests.faults.suite.check.checker import Findings, compare_outputs, compare_states
from onward.tests.faults.suite.check.reference_run import reference_run
from onward.tests.faults.suite.environment import read_to_end
from onward.tests.faults.suite.workers.worker import main
from onward.tests.support.forked_process import ForkedProcess
from onward.tests.support.ledgers import ledger_position
from onward.tests.support.programs import PICKED, features, write_programs

APPLICANTS = 120
PARTITIONS = 2
POLICIES = {
    "steps": {"policy": {"choice": "linucb", "window": {"steps": 5}}},
    "timed": {"policy": {"choice": "residual", "window": {"time": "PT1H"}}},
    "picked": {"policy": {**PICKED, "window": {"time": "PT1H"}}},
    "staged": {"policy": {"choice": "stages", "window": {"acted": "PT30M", "outcome": "PT1H", "acting": "reports"}}},
}
DELAYS_MS = {
    "computed": 0.0,
    "outputs in flight": 2.0,
    "outputs acknowledged": 0.0,
    "rows written": 0.0,
    "ledger committed": 0.0,
    "before the group commit": 0.0,
}
ROUTES = set(product(range(PARTITIONS), repeat=2))
COMMITTING = ("ledger committed", "before the group commit")
"""Points at which offsets are committed to the group as often as possible, and the next run joins the same group."""


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    return write_programs(tmp_path_factory.mktemp("programs"), POLICIES)


@pytest.fixture(scope="module")
def programs(specs):
    return assemble_all([load_program_spec(path) for path in specs])


class Sharing(NamedTuple):
    """The partitions and offsets of increments, and with the partition whose journal has it: those that were read."""

    told: set[tuple[int, int]]
    heard: set[tuple[int, int, int]]

    @property
    def routes(self):
        """The journal partitions that have an increment, each with the partition that it was told in."""
        return {(place, partition) for place, partition, _ in self.heard}


class KilledWorker:
    """A worker with a state folder, on topics that hold all inputs before it starts."""

    def __init__(self, broker, folder, specs, programs, point):
        self.point, self.folder, self.programs = point, folder, programs
        self.options, self.topics = broker.options(), Topics(prefix=f"{broker.group}-")
        broker.create(plan(self.topics, PARTITIONS, 1))
        is_committing = point in COMMITTING
        self.environment = {
            "ONWARD_BROKERS": ",".join(self.options.brokers),
            "ONWARD_SPEC": ",".join(map(str, specs)),
            "ONWARD_STATE_DIR": str(folder / "state"),
            "ONWARD_TOPIC_PREFIX": self.topics.prefix,
            "ONWARD_GROUP": f"{self.topics.prefix}group",
            "ONWARD_COMMIT_INTERVAL_SECONDS": "0.01" if is_committing else "60",
            # Fetches of the embedded broker do not return when a record arrives.
            "ONWARD_FETCH_WAIT_SECONDS": "0.1" if broker.is_real else "0.002",
            "ONWARD_TICK_SECONDS": "0.3",
            "ONWARD_WEB": "false",
        }
        if is_committing:
            self.environment["ONWARD_SESSION_TIMEOUT_SECONDS"] = "6"

    def start(self, *flags, **changes):
        return ForkedProcess(main, flags, self.folder / "worker.log", self.environment | changes)

    def run_until_killed(self, run):
        # Offsets are committed by time: where it runs out early, two commits may be all that there are.
        nth = (1 if self.point == "before the group commit" else 2) + run
        flags = ["--point", self.point, "--nth", str(nth), "--delay-ms", str(DELAYS_MS[self.point])]
        changes = {"ONWARD_CHUNK_RECORDS": str(5 + 4 * run)}
        if self.point not in COMMITTING:
            # A group of its own for each run: the group of a killed member waits until its session ends, and nothing
            # has been committed to it anyway.
            changes["ONWARD_GROUP"] = f"{self.environment['ONWARD_GROUP']}-{run}"
        with self.start(*flags, **changes) as process:
            assert process.wait() == -signal.SIGKILL, process.last_line()

    def run_to_the_end(self, expected):
        with EventReader(self.options, self.topics.outputs) as reader, self.start() as process:
            answers = 0
            while answers < expected and process.exit_code is None:
                answers += sum(record.topic == self.topics.recourse for record in reader.poll(0.2))
            while process.exit_code is None and (reader.poll(1.0) or self.sharing().routes != ROUTES):
                pass
            assert process.terminate() == 0, process.last_line()

    def read(self, topics):
        with EventReader(self.options, topics) as reader:
            return read_to_end(reader)

    def sharing(self):
        """What shards have told each other so far."""
        told = {(record.partition, record.offset) for record in self.read([self.topics.increments])}
        entries = [(record.partition, entry) for record in self.read([self.topics.journal]) for entry in read(record)]
        increments = [(place, entry) for place, entry in entries if entry.kind.name == "increment"]
        return Sharing(told, {(place, entry.source.partition, entry.source_offset) for place, entry in increments})

    def send_inputs(self):
        """Send applications to all programs, an outcome for most of them, outcomes of nobody, and bad records.

        People of one program say which option they would take, and half of them another one later.

        Return the number of applicants that the models reject.
        """
        rejected = 0
        random, now_ms = np.random.default_rng(11), time.time_ns() // 1_000_000
        with EventWriter(self.options) as writer:
            for number in range(APPLICANTS):
                for name, program in self.programs.items():
                    about = f"p{number}" if number % 10 else f"nobody{number}"
                    application = Application(name, f"p{number}", features(random))
                    score = program.bundle.model.score(program.codec.encode_many([application.features]))
                    rejected += int(not program.approves(score)[0])
                    events = [(self.topics.applications, application, f"{name}/a/{number}")]
                    # An outcome that is read before the answer closes the recourse.
                    if name != "picked" or number % 3 == 0:
                        events.append((self.topics.outcomes, Outcome(name, about, "improved"), f"{name}/o/{number}"))
                    if name == "staged" and number % 4:
                        events.insert(number % 2 + 1, (self.topics.acted, Acted(name, about), f"{name}/t/{number}"))
                    if name == "picked":
                        said = [("1", "2", None)[(number + time) % 3] for time in range(1 + number % 2)]
                        events += [
                            (self.topics.answers, Answer(name, f"p{number}", option), f"{name}/s/{number}/{time}")
                            for time, option in enumerate(said)
                        ]
                    for topic, event, identity in events:
                        headers = cloud_event_headers(identity, "test", ce_type(event), now_ms + number)
                        writer.send(topic, msgspec.json.encode(event), key=about.encode(), headers=headers)
                if number % 20 == 0:
                    headers = [("ce_id", f"bad/{number}".encode())]
                    writer.send(self.topics.applications, b"{", key=b"bad", headers=headers)
        return rejected

    def check(self, outputs):
        """Compare outputs and ledgers with the reference run; return the findings."""
        states = {ledger_position(path): dump(path) for path in sorted((self.folder / "state").glob("*.sqlite"))}
        # The worker may have written a last tick while it stopped: the reference run ends where the ledgers do.
        journal = self.read([self.topics.journal])
        inputs = self.read(self.topics.inputs)
        reference = reference_run(self.programs, self.topics, journal, states, self.folder / "reference", inputs)
        findings = Findings()
        compare_outputs(outputs, reference.outputs, findings)
        compare_states(
            {str(position): state for position, state in states.items()},
            {str(position): state for position, state in reference.dumps.items()},
            findings,
        )
        assert len(states) == PARTITIONS
        return findings


@pytest.mark.parametrize("point", DELAYS_MS)
def test_a_killed_worker_loses_and_repeats_nothing(point, broker, specs, programs, tmp_path):
    worker = KilledWorker(broker, tmp_path, specs, programs, point)
    expected = worker.send_inputs()
    for run in range(2):
        worker.run_until_killed(run)
    assert len(worker.read([worker.topics.recourse])) < expected, "the worker was killed too late to show anything"
    worker.run_to_the_end(expected)
    outputs = worker.read(worker.topics.outputs)
    findings = worker.check(outputs)
    assert findings.is_clean, findings
    assert findings.duplicates == 0
    assert sum(record.topic == worker.topics.recourse for record in outputs) == expected
    # Shards have told each other what they have learned, through the journals of both partitions.
    sharing = worker.sharing()
    assert sharing.routes == ROUTES
    told = [msgspec.json.decode(record.value)["evidence"] for record in worker.read([worker.topics.increments])]
    assert {"seen", "target"} <= {name for evidence in told for name in evidence}
    assert {(partition, offset) for _, partition, offset in sharing.heard} <= sharing.told
