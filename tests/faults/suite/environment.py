"""The environment of one scenario: topics, a sender, workers, and the check at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event
from typing import Self

import numpy as np

from onward.schemas.events import Model, RawSpec
from onward.streams.cli.process.stall_timeout import StallTimeout
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.options import KafkaOptions
from onward.streams.outputs.deduplicator import Deduplicator
from onward.streams.records import Record, TopicPartition
from onward.streams.snapshots.store import Snapshot, SnapshotError, Snapshots
from onward.streams.topics import Topics, plan
from onward.testing.ledger import Dump, dump
from onward.tests.faults.suite.brokers import BROKERS
from onward.tests.faults.suite.check.checker import Findings, compare_outputs, compare_states
from onward.tests.faults.suite.check.expected_outputs import POISON, expected_outputs, observe_outputs
from onward.tests.faults.suite.check.journal_recorder import JournalRecorder
from onward.tests.faults.suite.check.reference_run import reference_run
from onward.tests.faults.suite.context import SuiteContext
from onward.tests.faults.suite.load.applicants import applicant_turns, identity_of
from onward.tests.faults.suite.load.sender import Sender
from onward.tests.faults.suite.workers.group import SESSION_SECONDS, DrawPlan, WorkerGroup
from onward.tests.faults.suite.workers.process import COMMAND
from onward.tests.support.ledgers import LedgerPosition, ledger_position
from onward.tests.support.programs import announcements, changed_specs

PARTITIONS = 3
TURNS_PER_SECOND = 30.0
STALL_SECONDS = 120.0
SNAPSHOTS_KEPT = 3
_POLL_SECONDS = 0.5
_MAX_SECONDS = 600.0
MAX_WAIT_SECONDS = 1200.0
_CONNECT_MS = 60_000


@dataclass
class ScenarioEnv:
    """The environment of one scenario, with topics and a folder of its own. Entering the context starts the sender.

    The sender runs for ``seconds``, at ``turns_per_second``, out of order if ``is_shuffled``. At the end the scenario
    is given up when nothing has changed for ``stall_seconds``. ``random`` draws the faults. ``zombies`` counts workers
    that were suspended until another worker had taken their partitions over. ``refused`` counts good records that
    became dead letters, by reason. A scenario sets ``may_refuse_records`` or ``may_damage_snapshots`` where that is no
    surprise. It adds to ``expired`` the input records that it has deleted: nothing need come of them.
    """

    context: SuiteContext
    name: str
    seconds: float
    turns_per_second: float = TURNS_PER_SECOND
    is_shuffled: bool = False
    stall_seconds: float = STALL_SECONDS
    clock: Callable[[], float] = time.monotonic
    zombies: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    may_refuse_records: bool = False
    may_damage_snapshots: bool = False
    expired: list[Record] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        seed = f"{self.context.seed}/{self.name}"
        self.random = Random(seed)
        # The applicants must not depend on how many records happened to be due at once.
        self.applicant_random, self.order_random = np.random.default_rng(list(seed.encode())).spawn(2)
        self.folder = self.context.folder / self.name
        self.folder.mkdir()
        self.topics = Topics(prefix=f"{self.name}.")
        brokers = tuple(self.context.brokers.bootstrap.split(","))
        self.options = KafkaOptions(brokers=brokers, connect_timeout_ms=_CONNECT_MS)
        self.snapshots = Snapshots(str(self.folder / "snapshots"), SNAPSHOTS_KEPT)
        self.groups: list[WorkerGroup] = []
        self.started = self.clock()
        self._stack = ExitStack()
        self._settled = False
        self._recorder: JournalRecorder | None = None

    def __enter__(self) -> Self:
        create_topics(self.options, plan(self.topics, PARTITIONS, BROKERS))
        announced: list[Model | RawSpec] = [*announcements(self.context.folder), *changed_specs(self.context.programs)]
        turns = applicant_turns(self.topics, self.applicant_random, announced)
        shuffled = self.order_random if self.is_shuffled else None
        sender = Sender(self.options, turns, self.turns_per_second, self.seconds, shuffled=shuffled)
        self.started = self.clock()
        self.sender = self._stack.enter_context(sender)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    # --- the faults -----------------------------------------------------------------------------------------------

    def keep_going(self, *, enough: bool) -> bool:
        """Return whether the scenario injects more faults. Sending is extended until ``enough``, for slow machines."""
        passed = self.clock() - self.started
        self.sender.extended = not enough and passed < _MAX_SECONDS
        if not enough and not self.sender.extended:
            self.surprises.append(f"what was to happen did not happen often enough in {passed:.0f} s")
        return not self.sender.is_done and (self.sender.extended or passed < self.seconds)

    @contextmanager
    def keep_sending(self) -> Iterator[None]:
        """Extend sending at least until the end of the block."""
        self.sender.extended = True
        try:
            yield
        finally:
            self.sender.extended = False

    def wait_until(self, condition: Callable[[], bool], name: str) -> None:
        """Wait until ``condition`` holds. It is a surprise when that takes ten minutes."""
        while not condition():
            if self.clock() - self.started > _MAX_SECONDS:
                self.surprises.append(f"it took more than {_MAX_SECONDS:g} s until {name}")
                return
            self._run_for(_POLL_SECONDS)

    def listed_snapshots(self) -> list[list[Snapshot]]:
        """List the snapshots of each partition, newest first."""
        return [self.snapshots.listed(TopicPartition(self.topics.journal, number)) for number in range(PARTITIONS)]

    def record_journal(self) -> JournalRecorder:
        """Keep the journal from now on, for a scenario in which workers cut it."""
        self._recorder = self._stack.enter_context(JournalRecorder(self.options, self.topics.journal))
        return self._recorder

    def log(self, event: str) -> None:
        """Print a line of progress."""
        self.context.progress.log(event)

    def start_workers(
        self,
        size: int,
        draw_plan: DrawPlan,
        *,
        static: bool = True,
        state: Path | None = None,
        command: Sequence[str] = COMMAND,
        flags: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> WorkerGroup:
        """Start workers that run until the end of the scenario, with further ``settings`` as environment variables."""
        group = WorkerGroup(
            self.folder,
            {**self._environment(), **(settings or {})},
            size,
            draw_plan,
            f"{self.context.seed}/{self.name}",
            static=static,
            state=state,
            command=command,
            flags=flags,
        )
        self.groups.append(group)
        return self._stack.enter_context(group)

    def _environment(self) -> dict[str, str]:
        return {
            "ONWARD_BROKERS": self.context.brokers.bootstrap,
            "ONWARD_SPEC": ",".join(map(str, self.context.specs)),
            "ONWARD_PARTITIONS": str(PARTITIONS),
            "ONWARD_TOPIC_PREFIX": self.topics.prefix,
            "ONWARD_GROUP": self.name,
            "ONWARD_SESSION_TIMEOUT_SECONDS": str(SESSION_SECONDS),
            "ONWARD_COMMIT_INTERVAL_SECONDS": "0.2",
            "ONWARD_TICK_SECONDS": "0.3",
            "ONWARD_SNAPSHOTS": str(self.folder / "snapshots"),
            "ONWARD_SNAPSHOT_MINUTES": "0.05",
            "ONWARD_SNAPSHOTS_KEPT": str(SNAPSHOTS_KEPT),
            "ONWARD_WEB": "false",
        }

    # --- the end --------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let the workers catch up, and stop them."""
        self.catch_up()
        for group in self.groups:
            group.stop()

    def catch_up(self) -> None:
        """Stop the faults; wait until all inputs are processed, or nothing has changed for ``stall_seconds``.

        All inputs are processed when no required output is missing, and every partition has a snapshot and a ledger
        behind its last output.
        """
        if self._settled:
            return
        self._settled = True
        for group in self.groups:
            group.stop_faults()
        while not self.sender.is_done:
            self._run_for(_POLL_SECONDS)
        self.sender.finish()
        expected = expected_outputs(self.context.programs, self.topics, self._inputs(), PARTITIONS)
        outputs: list[Record] = []
        timeout = StallTimeout(self.stall_seconds, max_seconds=MAX_WAIT_SECONDS)
        with EventReader(self.options, self.topics.outputs) as reader:
            while True:
                outputs += read_to_end(reader)
                missing = len(observe_outputs(expected, self.topics, outputs).missing)
                is_done = not missing and self.ledgers_cover(outputs) and all(self.listed_snapshots())
                if is_done or not timeout.keep_waiting((missing, len(outputs))):
                    break
                self.context.progress.update(f"waits for {missing} of {len(outputs)}")
                self._run_for(_POLL_SECONDS)

    def check(self) -> Findings:
        """Compare with the outputs that the inputs require, and with a reference run over the same journal."""
        findings = Findings()
        inputs, outputs = self._inputs(), self.read(self.topics.outputs)
        all_inputs = [*inputs, *self.expired]
        stored = {(record.topic, identity_of(record.headers)) for record in all_inputs}
        findings.lost |= {
            f"input {sent.identity}" for sent in self.sender.sent if (sent.topic, sent.identity) not in stored
        }
        expected_names = expected_outputs(self.context.programs, self.topics, inputs, PARTITIONS)
        observed = observe_outputs(expected_names, self.topics, outputs)
        findings.lost |= observed.missing
        self.refused = Counter(observed.refused.values())
        states = self._states()
        journal = self.read([self.topics.journal]) if self._recorder is None else self._recorder.finish()
        positions = {position for position, _ in states.values()}
        folder = self.folder / "reference"
        reference = reference_run(self.context.programs, self.topics, journal, positions, folder, all_inputs)
        compare_outputs(outputs, reference.outputs, findings)
        expected = {name: reference.dumps[position] for name, (position, _) in states.items()}
        for partition in set(range(PARTITIONS)) - {position.partition for position in positions}:
            expected[f"a ledger of partition {partition}"] = []
        compare_states({name: state for name, (_, state) in states.items()}, expected, findings)
        findings.records += len(inputs)
        return findings

    def read(self, topics: Iterable[str]) -> list[Record]:
        """Read all records of topics."""
        with EventReader(self.options, topics) as reader:
            return read_to_end(reader)

    def _states(self) -> dict[str, tuple[LedgerPosition, Dump]]:
        """Dump every ledger and snapshot. A refused snapshot is a surprise unless the scenario damages some."""
        paths = [path for group in self.groups for path in group.ledgers]
        copies = self.folder / "copies"
        copies.mkdir()
        for partition, snapshots in enumerate(self.listed_snapshots()):
            for snapshot in snapshots:
                copy = copies / f"snapshot-{partition}-{snapshot.file}"
                try:
                    self.snapshots.fetch(snapshot, copy, Event())
                except SnapshotError as error:
                    if not self.may_damage_snapshots:
                        self.surprises.append(f"snapshot {snapshot.file} of partition {partition} is refused: {error}")
                    continue
                paths.append(copy)
        return {str(path.relative_to(path.parents[1])): (ledger_position(path), dump(path)) for path in paths}

    def ledgers_cover(self, outputs: Iterable[Record]) -> bool:
        """Return whether every partition has a ledger behind its outputs. One may still be replaying the journal."""
        deduplicator = Deduplicator()
        for record in outputs:
            deduplicator.classify(record)
        reached = [ledger_position(path) for group in self.groups for path in group.ledgers]
        return all(
            deduplicator.mark(topic, partition).position.offset
            < max((position.offset for position in reached if position.partition == partition), default=0)
            for topic in self.topics.outputs
            for partition in range(PARTITIONS)
        )

    def _run_for(self, seconds: float) -> None:
        if not self.groups:
            time.sleep(seconds)
        for group in self.groups:
            group.run_for(seconds)

    def _inputs(self) -> list[Record]:
        """Read the input topics, and the foreign records in the journal."""
        return [
            record
            for record in self.read([*self.topics.inputs, self.topics.journal])
            if record.topic != self.topics.journal or (record.key or b"").startswith(POISON)
        ]


def read_to_end(reader: EventReader) -> list[Record]:
    """Read until the reader has caught up."""
    records = reader.poll(0.2)
    while not reader.caught_up:
        records += reader.poll(0.2)
    return records
