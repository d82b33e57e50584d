"""Where a scenario takes place: topics of its own, people who apply, workers, and the check at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event
from typing import Self

import numpy as np

from onward.faults.brokers import BROKERS, Brokers
from onward.faults.checker import Findings, compare_outputs, compare_states
from onward.faults.demands import POISON, demands_of, met
from onward.faults.fleet import COMMAND, SESSION_SECONDS, Draw, Fleet
from onward.faults.patience import Patience
from onward.faults.people import everybody, identity_of
from onward.faults.progress import Progress
from onward.faults.reference import Dump, Standing, dump, standing, uninterrupted
from onward.faults.sender import Sender
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.options import KafkaOptions
from onward.streams.outputs.deduplicator import Deduplicator
from onward.streams.programs.program import Program
from onward.streams.records import Record, TopicPartition
from onward.streams.snapshots.store import Snapshot, SnapshotError, Snapshots
from onward.streams.topics import Topics, plan

PARTITIONS = 3
TURNS_A_SECOND = 30.0
PATIENCE_SECONDS = 120.0
SNAPSHOTS_KEPT = 3
_LOOK_SECONDS = 0.5
_MOST_SECONDS = 600.0
_CONNECT_MS = 60_000


@dataclass(frozen=True)
class Ground:
    """What scenarios share. ``folder`` is for all that they write."""

    brokers: Brokers
    folder: Path
    specs: list[Path]
    programs: Mapping[str, Program]
    progress: Progress
    seed: int


@dataclass
class Site:
    """One scenario's place; ``seconds`` is how long people apply. Entering the context lets them begin.

    ``turns_a_second`` is how fast they do, and ``shuffled`` lets records come out of order. ``patience_seconds`` is how
    long nothing may come at the end while something is missing. ``random`` draws what the scenario does, and when.
    ``zombies`` are workers that were stopped until others had their partitions, and then let go. Good records may
    become dead letters, and snapshots be refused, where the scenario says that it ``refuses`` or ``damages``.
    """

    ground: Ground
    name: str
    seconds: float
    turns_a_second: float = TURNS_A_SECOND
    shuffled: bool = False
    patience_seconds: float = PATIENCE_SECONDS
    zombies: int = 0
    refused: int = 0
    refuses: bool = False
    damages: bool = False
    surprises: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        seed = f"{self.ground.seed}/{self.name}"
        self.random = Random(seed)
        # People must not depend on how many of them happened to be due at once.
        self.people, self.order = np.random.default_rng(list(seed.encode())).spawn(2)
        self.folder = self.ground.folder / self.name
        self.folder.mkdir()
        self.topics = Topics(prefix=f"{self.name}.")
        brokers = tuple(self.ground.brokers.bootstrap.split(","))
        self.options = KafkaOptions(brokers=brokers, connect_timeout_ms=_CONNECT_MS)
        self.snapshots = Snapshots(str(self.folder / "snapshots"), SNAPSHOTS_KEPT)
        self.fleets: list[Fleet] = []
        self._stack = ExitStack()
        self._settled = False

    def __enter__(self) -> Self:
        create_topics(self.options, plan(self.topics, PARTITIONS, BROKERS))
        people = everybody(self.topics, self.people)
        shuffled = self.order if self.shuffled else None
        sender = Sender(self.options, people, self.turns_a_second, self.seconds, shuffled=shuffled)
        self._began = time.monotonic()
        self.sender = self._stack.enter_context(sender)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def loading(self) -> bool:
        """People still apply."""
        return not self.sender.done

    def goes_on(self, *, enough: bool) -> bool:
        """Whether more is to happen. People go on applying until ``enough`` has: a slow machine takes its time."""
        passed = time.monotonic() - self._began
        self.sender.open = not enough and passed < _MOST_SECONDS
        if not enough and not self.sender.open:
            self.surprises.append(f"what was to happen did not happen often enough in {passed:.0f} s")
        return self.loading and (self.sender.open or passed < self.seconds)

    @contextmanager
    def applying(self) -> Iterator[None]:
        """People go on applying at least until the end of the block."""
        self.sender.open = True
        try:
            yield
        finally:
            self.sender.open = False

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Let time pass until it is so. It is a surprise when that does not come for long."""
        while not condition():
            if time.monotonic() - self._began > _MOST_SECONDS:
                self.surprises.append(f"it took more than {_MOST_SECONDS:g} s until {what}")
                return
            self._watch(_LOOK_SECONDS)

    def listed(self) -> list[list[Snapshot]]:
        """The snapshots of each partition, newest first."""
        return [self.snapshots.listed(TopicPartition(self.topics.journal, number)) for number in range(PARTITIONS)]

    def say(self, what: str) -> None:
        """Something happened."""
        self.ground.progress.say(what)

    def fleet(
        self,
        size: int,
        draw: Draw,
        *,
        static: bool = True,
        state: Path | None = None,
        command: Sequence[str] = COMMAND,
        flags: bool = True,
    ) -> Fleet:
        """Workers, running from now on."""
        seed = f"{self.ground.seed}/{self.name}"
        fleet = Fleet(
            self.folder, self._environment(), size, draw, seed, static=static, state=state, command=command, flags=flags
        )
        self.fleets.append(fleet)
        return self._stack.enter_context(fleet)

    def _environment(self) -> dict[str, str]:
        return {
            "ONWARD_BROKERS": self.ground.brokers.bootstrap,
            "ONWARD_SPEC": ",".join(map(str, self.ground.specs)),
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
        """Let people and workers come to the end, or until nothing has moved for so long that patience runs out.

        The end is that all is answered and that every partition has a ledger which stands behind the last of that, and
        a snapshot.
        """
        if self._settled:
            return
        self._settled = True
        for fleet in self.fleets:
            fleet.calm()
        while self.loading:
            self._watch(_LOOK_SECONDS)
        self.sender.finish()
        demands = demands_of(self.ground.programs, self.topics, self._inputs())
        outputs: list[Record] = []
        patience = Patience(self.patience_seconds)
        with EventReader(self.options, self.topics.outputs) as reader:
            while True:
                outputs += caught_up(reader)
                missing = len(met(demands, self.topics, outputs).missing)
                at_end = not missing and self._folded(outputs) and all(self.listed())
                if at_end or not patience.lasts((missing, len(outputs))):
                    break
                self.ground.progress.now(f"waits for {missing} of {len(outputs)}")
                self._watch(_LOOK_SECONDS)
        for fleet in self.fleets:
            fleet.stop()

    def check(self) -> Findings:
        """Compare with an uninterrupted run over the same journal, and with what the inputs ask for."""
        findings = Findings()
        inputs, outputs = self._inputs(), self.read(self.topics.outputs)
        there = {(record.topic, identity_of(record.headers)) for record in inputs}
        findings.lost |= {
            f"input {sent.identity}" for sent in self.sender.sent if (sent.topic, sent.identity) not in there
        }
        found = met(demands_of(self.ground.programs, self.topics, inputs), self.topics, outputs)
        findings.lost |= found.missing
        self.refused = len(found.refused)
        states = self._states()
        journal = self.read([self.topics.journal])
        stops = {at for at, _ in states.values()}
        reference = uninterrupted(self.ground.programs, self.topics, journal, stops, self.folder / "reference")
        compare_outputs(outputs, reference.outputs, findings)
        expected = {name: reference.dumps[at] for name, (at, _) in states.items()}
        for partition in set(range(PARTITIONS)) - {at.partition for at in stops}:
            expected[f"a ledger of partition {partition}"] = []
        compare_states({name: state for name, (_, state) in states.items()}, expected, findings)
        findings.records += len(inputs)
        return findings

    def _states(self) -> dict[str, tuple[Standing, Dump]]:
        """Every ledger and every snapshot, with where it stands. A snapshot that is refused is a surprise, unless the
        scenario has damaged some."""
        paths = [path for fleet in self.fleets for path in fleet.ledgers]
        copies = self.folder / "copies"
        copies.mkdir()
        for partition, listed in enumerate(self.listed()):
            for snapshot in listed:
                copy = copies / f"snapshot-{partition}-{snapshot.file}"
                try:
                    self.snapshots.fetch(snapshot, copy, Event())
                except SnapshotError as error:
                    if not self.damages:
                        self.surprises.append(f"snapshot {snapshot.file} of partition {partition} is refused: {error}")
                    continue
                paths.append(copy)
        return {str(path.relative_to(path.parents[1])): (standing(path), dump(path)) for path in paths}

    def _folded(self, outputs: Iterable[Record]) -> bool:
        """Whether of every partition there is a ledger behind its outputs: one may have been begun anew."""
        repeats = Deduplicator()
        for record in outputs:
            repeats.judge(record)
        reached = [standing(path) for fleet in self.fleets for path in fleet.ledgers]
        return all(
            repeats.mark(topic, partition).position.offset
            < max((at.offset for at in reached if at.partition == partition), default=0)
            for topic in self.topics.outputs
            for partition in range(PARTITIONS)
        )

    def _watch(self, seconds: float) -> None:
        if not self.fleets:
            time.sleep(seconds)
        for fleet in self.fleets:
            fleet.watch(seconds)

    def _inputs(self) -> list[Record]:
        """The input topics, and what others have written into the journal."""
        return [
            record
            for record in self.read([*self.topics.inputs, self.topics.journal])
            if record.topic != self.topics.journal or (record.key or b"").startswith(POISON)
        ]

    def read(self, topics: Iterable[str]) -> list[Record]:
        """All records of topics."""
        with EventReader(self.options, topics) as reader:
            return caught_up(reader)


def caught_up(reader: EventReader) -> list[Record]:
    """What is there to read."""
    records = reader.poll(0.2)
    while not reader.caught_up:
        records += reader.poll(0.2)
    return records
