"""The ledger: the state of one journal partition in one SQLite file, committed together with the journal offset.

The file is the truth about how far the journal has been folded. WAL with ``synchronous=NORMAL`` may lose the newest
commits in a power cut, never their order: the journal is then folded again from where the file stands, and outputs
that are in Kafka already are not published again.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from ...schemas.events import DeadLetter, Decision, Outcome, Tick
from ..engine.cases import Case, ProcessedEvent, Waiting
from ..engine.effects import Effects
from ..engine.fold import LedgerView, processed_event_of
from ..engine.state import CurrentModel, PartitionState, Shard, ShardKey, WaitingRoom
from ..engine.watermark import Decider, Watermarks
from ..errors import LedgerError
from ..journal.journal import CaseKey, Entry, JournalPosition, RawApplication
from ..programs.program import Program
from ..records import TopicPartition
from .array_codec import pack, unpack
from .checksum import with_checksum, without_checksum
from .file import told
from .schema import CLOSE, FORGET, SCHEMA, SCHEMA_VERSION, place_of

_encode_case = msgspec.msgpack.Encoder().encode
_decode_case = msgspec.msgpack.Decoder(Case).decode
_PARAMETERS_A_QUERY = 5000


class Ledger:
    """One journal partition's ledger. One process may have it open for writing. ``examine`` what others have left."""

    def __init__(self, path: Path, journal: str, partition: int) -> None:
        self.path = path
        self.partition = partition
        with told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.execute("PRAGMA locking_mode=NORMAL")
                self._create_or_check(journal)
            except BaseException:
                # Closed later, it would delete the -wal of the ledger that has come in its place.
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last commit stands."""
        self._db.close()

    @property
    def standing(self) -> tuple[int, int]:
        """The next journal offset to fold and the newest owner's generation, as the file says."""
        with told(self.path):
            found = dict(self._db.execute("SELECT name, value FROM meta WHERE name IN ('offset', 'generation')"))
            return found["offset"], found["generation"]

    @property
    def committed(self) -> tuple[int, int]:
        """The same as last committed here, once it is claimed."""
        return self._offset, self._generation

    def load(
        self, programs: Mapping[str, Program], required: Mapping[Decider, frozenset[str]], waiting_limit: int
    ) -> PartitionState:
        """Everything but the cases at rest. Refuse programs that are not those the ledger was written with."""
        with told(self.path):
            self._register(programs)
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            self._offset: int = meta["offset"]
            self._generation: int = meta["generation"]
            clocks: dict[TopicPartition, int | None] = {}
            positions: dict[TopicPartition, int] = {}
            for topic, partition, offset, heard, time_ms in self._db.execute(
                "SELECT topic, partition, offset, heard, time_ms FROM sources"
            ):
                source = TopicPartition(topic, partition)
                if heard:
                    clocks[source] = time_ms
                if offset is not None:
                    positions[source] = offset
            state = PartitionState(
                partition=self.partition,
                programs=programs,
                watermarks=Watermarks(required, clocks, dict(self._db.execute("SELECT * FROM watermarks"))),
                waiting=WaitingRoom(waiting_limit),
                offset=self._offset,
                positions=positions,
            )
            self._load_models(state)
            self._load_shards(state)
            for event in self._waiting():
                state.waiting.add(event, programs[event.key.program].spec.decisions)
            return state

    def claim(self, after: int) -> int:
        """Begin to write as a new owner, of a later generation than all before and than ``after``; return it."""
        with told(self.path), self._transaction():
            (found,) = self._db.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()
            self._generation = max(found, after) + 1
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'generation'", (self._generation,))
        return self._generation

    def view(self, state: PartitionState, chunk: Sequence[Entry]) -> LedgerView:
        """What a chunk may touch of what is at rest."""
        wanted: dict[str, set[str]] = {}
        events: list[ProcessedEvent] = []
        moves: list[tuple[TopicPartition, int | None]] = []
        cases: dict[CaseKey, Case] = {}
        answers: Counter[str] = Counter()
        timed = any(program.window_ms is not None for program in state.programs.values())
        for entry in chunk:
            body = entry.body
            if isinstance(body, (RawApplication, Decision, Outcome)):
                key = entry.key
                if key.program in state.programs:  # of any other there are no cases; whoever folds the entry says so
                    wanted.setdefault(key.program, set()).add(key.application)
                if not isinstance(body, Outcome):
                    answers[key.program] += 1
                if not isinstance(body, RawApplication):
                    events.append(processed_event_of(entry))
            if not timed:
                continue
            if isinstance(body, Tick):
                moves.extend((TopicPartition(at.topic, at.partition), at.time_ms) for at in body.sources)
            elif entry.source is not None and not isinstance(body, DeadLetter):
                moves.append((entry.source, entry.time_ms))
        with told(self.path):
            for program, applications in wanted.items():
                cases.update((case.key, case) for case in self._cases(program, sorted(applications)))
            due = [*self._due(state, moves, cases), *self._due_by_steps(state, answers, cases)]
            return LedgerView(cases, due, self._settled(events))

    def commit(self, state: PartitionState, effects: Effects) -> None:
        """Write effects, state and journal offset in one transaction."""
        with told(self.path), self._transaction():
            self._write_cases(effects)
            self._write_waiting(effects)
            self._db.executemany(
                "INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", [(*what, ms) for what, ms in effects.settled.items()]
            )
            self._write_shards(state, effects)
            self._write_models(state, effects)
            self._write_progress(state)
        self._offset = state.offset

    def open_recourses(self) -> Counter[str]:
        """How many recourses of each program wait for their fate."""
        with told(self.path):
            count = "SELECT count(*) FROM cases WHERE program = ? AND queue >= ?"
            return Counter({name: self._db.execute(count, (id, CLOSE)).fetchone()[0] for name, id in self._ids.items()})

    # --- opening -------------------------------------------------------------------------------------------------

    def _create_or_check(self, journal: str) -> None:
        identity = {"schema": SCHEMA_VERSION, "journal": journal, "partition": self.partition}
        if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with self._transaction():
                for statement in SCHEMA.split(";"):
                    self._db.execute(statement)
                rows = [*identity.items(), ("offset", 0), ("generation", 0)]
                self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            return
        found = dict(self._db.execute("SELECT name, value FROM meta WHERE name IN ('schema', 'journal', 'partition')"))
        if found != identity:
            raise LedgerError(f"ledger {self.path} belongs to {found}, not to {identity}: use another state directory")

    def _register(self, programs: Mapping[str, Program]) -> None:
        known = {row[0]: row[1:] for row in self._db.execute("SELECT program, spec, first_model FROM programs")}
        for name, (spec, first_model) in known.items():
            program = programs.get(name)
            if program is None:
                raise LedgerError(f"ledger {self.path} holds program {name!r}: start the worker with its spec too")
            if (program.sha256, program.bundle.manifest_sha256) != (spec, first_model):
                what = "spec" if program.sha256 != spec else "first model"
                raise LedgerError(
                    f"the {what} of program {name!r} is not the one ledger {self.path} was written with: restore it, "
                    "give a changed program a new name, or announce a new model with `onward models announce`"
                )
        with self._transaction():
            for name in sorted(programs.keys() - known.keys()):
                program, bundle = programs[name], programs[name].bundle
                fixed = (name, program.spec.decisions, program.sha256, bundle.manifest_sha256)
                self._db.execute(
                    "INSERT INTO programs (program, decisions, spec, first_model, version, manifest, sha256) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*fixed, bundle.version, bundle.address, bundle.manifest_sha256),
                )
        self._ids: dict[str, int] = dict(self._db.execute("SELECT program, id FROM programs"))

    # --- reading -------------------------------------------------------------------------------------------------

    def _load_models(self, state: PartitionState) -> None:
        rows = self._db.execute("SELECT program, manifest, sha256 FROM programs WHERE sha256 != first_model")
        for name, manifest, sha256 in rows.fetchall():
            program = state.programs[name]
            bundle = program.load(manifest, sha256)
            state.models[name] = CurrentModel(bundle, program.candidates(bundle))

    def _load_shards(self, state: PartitionState) -> None:
        for name, number, step, choice, learner in self._db.execute("SELECT * FROM shards"):
            program = state.programs[name]
            if choice != program.spec.policy.choice:
                raise LedgerError(
                    f"ledger {self.path} holds what {choice} has learned for program {name!r}, whose policy is now "
                    f"{program.spec.policy.choice}: name {choice} in its spec (policy: choice), or rename the program"
                )
            shard = Shard(program, number, program.learner(), step)
            learned = without_checksum(learner)
            try:
                shard.learner.restore(unpack(learned))
            except ValueError as error:
                raise LedgerError(
                    f"ledger {self.path}: what {choice} has learned for program {name!r} does not fit it any more "
                    f"({error}): restore the version of onward that wrote it, or use another state directory"
                ) from error
            state.shards[ShardKey(name, number)] = shard

    def _waiting(self) -> Iterator[Waiting]:
        for row in self._db.execute("SELECT * FROM waiting ORDER BY journal_offset, line"):
            offset, line, program, application, kind, event, *times, topic, partition, source_offset, payload = row
            source = None if topic is None else TopicPartition(topic, partition)
            key = CaseKey(program, application)
            yield Waiting._make(
                (JournalPosition(offset, line), key, kind, event, *times, source, source_offset, payload)
            )

    def _cases(self, program: str, applications: Sequence[str]) -> Iterator[Case]:
        for some in _portions(applications):
            marks = ",".join("?" * len(some))
            query = f"SELECT body FROM cases WHERE program = ? AND application IN ({marks})"
            yield from map(_case, self._db.execute(query, (self._ids[program], *some)))

    def _due(
        self, state: PartitionState, moves: Sequence[tuple[TopicPartition, int | None]], known: Mapping[CaseKey, Case]
    ) -> list[Case]:
        after = state.watermarks.after(moves)
        due: list[Case] = []
        for program in state.programs.values():
            if program.window_ms is not None and (before_ms := after[program.spec.decisions]) is not None:
                rows = self._db.execute(
                    "SELECT body FROM cases WHERE program = ? AND queue = ? AND due < ?",
                    (self._ids[program.name], CLOSE, before_ms),
                )
                due.extend(known.get(case.key, case) for case in map(_case, rows))
        return due

    def _due_by_steps(
        self, state: PartitionState, answers: Mapping[str, int], known: Mapping[CaseKey, Case]
    ) -> Iterator[Case]:
        """Those whose window of steps closes when there are so many answers more."""
        for shard in state.shards.values():
            window, more = shard.program.window_steps, answers.get(shard.program.name, 0)
            if window is not None and more:
                rows = self._db.execute(
                    "SELECT body FROM cases WHERE program = ? AND queue = ? AND due < ? ORDER BY due",
                    (self._ids[shard.key.program], shard.number, shard.step + more - window),
                )
                yield from (known.get(case.key, case) for case in map(_case, rows))

    def _settled(self, events: Sequence[ProcessedEvent]) -> Mapping[ProcessedEvent, int]:
        found: dict[ProcessedEvent, int] = {}
        programs: dict[str, list[str]] = {}
        for program, event in events:
            programs.setdefault(program, []).append(event)
        for program, names in programs.items():
            for some in _portions(names):
                marks = ",".join("?" * len(some))
                rows = self._db.execute(
                    f"SELECT event, forget_ms FROM settled WHERE program = ? AND event IN ({marks})", (program, *some)
                )
                found.update((ProcessedEvent(program, event), forget_ms) for event, forget_ms in rows)
        return found

    # --- writing -------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # On a full disk and the like SQLite has rolled back already.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _write_cases(self, effects: Effects) -> None:
        self._db.executemany(
            "INSERT INTO cases VALUES (?, ?, ?, ?, ?) ON CONFLICT (program, application) "
            "DO UPDATE SET queue = excluded.queue, due = excluded.due, body = excluded.body",
            [self._row(case) for case in effects.cases.values()],
        )

    def _row(self, case: Case) -> tuple[int, str, int, int, bytes]:
        program, application = case.key
        queue, due = place_of(case)
        assert due is not None, f"{case.key} is due for nothing"
        return self._ids[program], application, queue, due, with_checksum(_encode_case(case))

    def _write_waiting(self, effects: Effects) -> None:
        self._db.executemany("DELETE FROM waiting WHERE journal_offset = ? AND line = ?", effects.no_longer_waiting)
        self._db.executemany(
            "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    *event.place,
                    *event.key,
                    event.kind,
                    event.event,
                    event.time_ms,
                    event.timestamp_ms,
                    event.expires_ms,
                    *(event.source or (None, None)),
                    event.source_offset,
                    event.payload,
                )
                for event in effects.waiting.values()
            ],
        )

    def _write_shards(self, state: PartitionState, effects: Effects) -> None:
        rows = []
        for key in effects.shards:
            shard = state.shards[key]
            rows.append(
                (*key, shard.step, shard.program.spec.policy.choice, with_checksum(pack(shard.learner.state())))
            )
        self._db.executemany("INSERT OR REPLACE INTO shards VALUES (?, ?, ?, ?, ?)", rows)

    def _write_models(self, state: PartitionState, effects: Effects) -> None:
        for name in effects.models:
            bundle = state.models[name].bundle
            self._db.execute(
                "UPDATE programs SET version = ?, manifest = ?, sha256 = ? WHERE program = ?",
                (bundle.version, bundle.address, bundle.manifest_sha256, name),
            )

    def _write_progress(self, state: PartitionState) -> None:
        clocks = state.watermarks.clocks
        sources = sorted(state.positions.keys() | clocks.keys())
        self._db.executemany(
            "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)",
            [(*source, state.positions.get(source), source in clocks, clocks.get(source)) for source in sources],
        )
        moved = self._db.execute(
            "UPDATE meta SET value = ? WHERE name = 'offset' AND value = ? "
            "AND (SELECT value FROM meta WHERE name = 'generation') = ?",
            (state.offset, self._offset, self._generation),
        )
        if moved.rowcount != 1:
            raise LedgerError(
                f"ledger {self.path} was taken over by another worker: only one may keep a state directory"
            )
        known = list(state.watermarks.known())
        self._db.executemany("INSERT OR REPLACE INTO watermarks VALUES (?, ?)", known)
        for program in state.programs.values():
            before_ms = state.watermark_ms(program) or 0
            self._db.execute(
                "DELETE FROM cases WHERE program = ? AND queue = ? AND due < ?",
                (self._ids[program.name], FORGET, before_ms),
            )
            self._db.execute("DELETE FROM settled WHERE program = ? AND forget_ms < ?", (program.name, before_ms))


def _portions(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _PARAMETERS_A_QUERY):
        yield values[start : start + _PARAMETERS_A_QUERY]


def _case(row: tuple[bytes]) -> Case:
    return _decode_case(without_checksum(row[0]))
