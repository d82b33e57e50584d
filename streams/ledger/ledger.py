"""The ledger: the state of one journal partition in one SQLite file, committed together with the journal offset.

A commit may cover several portions: a portion's rows are written into a transaction that stays open, and views read
them there. Learners, clocks and the offset are written when it is committed. After an error all of it is rolled back.

The file is the truth about how far the journal has been folded. WAL with ``synchronous=NORMAL`` may lose the newest
commits in a power cut, never their order: the journal is then folded again from where the file stands, and outputs
that are in Kafka already are not published again.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Self

from msgspec import Raw

from ...schemas.kinds import WatermarkName, kinds
from ..engine.cases import WAITS, Case, ProcessedEvent, joined
from ..engine.handlers import timer_handlers
from ..engine.portion import Footprint, LedgerView, PortionChanges
from ..engine.shards import Shard, ShardKey
from ..engine.state import CurrentModel, PartitionState
from ..engine.timing.timers import EVENT_TIME, FORGET_CASE, FORGET_EVENT, WINDOW, Timer
from ..engine.timing.waiting import WaitingEvent, WaitingEvents
from ..engine.timing.watermark import Watermarks
from ..engine.version import ENGINE_VERSION, EngineSpan
from ..errors import LedgerError
from ..journal.entries import CaseKey, Entry, JournalPosition, shard_of
from ..private_folder import make_private, make_private_file
from ..programs.bundle.loader import ModelBundle
from ..programs.program import Program
from ..records import TopicPartition
from .array_codec import encode_record, pack, unpack
from .file import has_room, ledger_errors
from .programs import insert_program, programs_in_force, write_specs
from .schema import SCHEMA, SCHEMA_VERSION, state_tables
from .states import RowsAtRest, decode_case, read_states, write_states

_PARAMETERS_A_QUERY = 5000
_EARLIEST_MS, _LATEST_MS = 1 - 2**63, 2**63 - 1


class Ledger:
    """One journal partition's ledger. Only one process may have it open for writing.

    A file that another process has left is to be checked first (``ledger/check.py``). Any thread may use an object, one
    at a time.
    """

    def __init__(self, path: Path, journal: str, partition: int) -> None:
        self.path = path
        self.partition = partition
        with ledger_errors(path):
            make_private(path.parent)
            make_private_file(path)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.execute("PRAGMA locking_mode=NORMAL")
                self._db.execute("PRAGMA secure_delete=ON")
                self._create_or_check(journal)
                self._rows = RowsAtRest(self._db, path)
                self._unwritten: set[ShardKey] = set()
            except BaseException:
                # Closed later, it would delete the -wal of the ledger that has replaced it.
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last commit stands, and what was written since is rolled back."""
        self._db.close()

    @property
    def progress(self) -> tuple[int, int]:
        """The next journal offset to fold and the newest owner's generation, as stored."""
        with ledger_errors(self.path):
            meta = dict(self._db.execute("SELECT name, value FROM meta WHERE name IN ('offset', 'generation')"))
            return meta["offset"], meta["generation"]

    @property
    def committed(self) -> tuple[int, int]:
        """The journal offset and generation that this object committed last. Call ``load`` and ``claim`` first."""
        return self._offset, self._generation

    @property
    def engine(self) -> EngineSpan:
        """The engine that has folded it last, as stored; of version 0 where nothing is folded yet."""
        with ledger_errors(self.path):
            meta = dict(self._db.execute("SELECT name, value FROM meta WHERE name IN ('engine', 'engine_since')"))
            return EngineSpan(meta["engine"], meta["engine_since"])

    def load(
        self, programs: Mapping[str, Program], required: Mapping[WatermarkName, frozenset[str]], waiting_limit: int
    ) -> PartitionState:
        """Everything except the cases at rest.

        ``programs`` are the worker's. Refuse those that are not the ones the ledger was written with, as far as a spec
        may not change; others go on with the spec that is in force.
        """
        with ledger_errors(self.path):
            begun = programs_in_force(self._db, self.path, programs)
            self._ids: dict[str, int] = dict(self._db.execute("SELECT program, id FROM programs"))
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            self._offset: int = meta["offset"]
            self._generation: int = meta["generation"]
            sources = [(TopicPartition(*row[:2]), *row[2:]) for row in self._db.execute("SELECT * FROM sources")]
            clocks = {source: time_ms for source, _, heard, time_ms, _ in sources if heard}
            ahead_ms = {source: time_ms for source, _, _, _, time_ms in sources if time_ms is not None}
            watermarks = Watermarks(required, clocks, dict(self._db.execute("SELECT * FROM watermarks")), ahead_ms)
            state = PartitionState(self.partition, programs, watermarks, WaitingEvents(waiting_limit), begun)
            state.offset = self._offset
            state.positions = {source: offset for source, offset, *_ in sources if offset is not None}
            self._load_models(state)
            self._load_shards(state)
            read_states(state, self._rows)
            for event in self._waiting():
                state.waiting.add(event)
            return state

    def keep_width(self, width: int) -> int:
        """The number of partitions of the journal when this ledger was first opened: ``width``, if that is now."""
        with ledger_errors(self.path), self._transaction():
            self._db.execute("INSERT OR IGNORE INTO meta VALUES ('width', ?)", (width,))
            kept: int = self._db.execute("SELECT value FROM meta WHERE name = 'width'").fetchone()[0]
            return kept

    def claim(self, after: int) -> int:
        """Become the owner, with a generation above all before and above ``after``; return it.

        From here on this version's engine folds the journal.
        """
        with ledger_errors(self.path), self._transaction():
            if self.engine.version != ENGINE_VERSION:
                offset = self.progress[0]
                self._db.execute("UPDATE meta SET value = ? WHERE name = 'engine'", (ENGINE_VERSION,))
                self._db.execute("UPDATE meta SET value = ? WHERE name = 'engine_since'", (offset,))
            (last,) = self._db.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()
            self._generation = max(last, after) + 1
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'generation'", (self._generation,))
        return self._generation

    def view(
        self, state: PartitionState, touched: Footprint, models: Mapping[JournalPosition, ModelBundle]
    ) -> LedgerView:
        """Read the rows that a portion may touch. ``models`` are the bundles that it announces."""
        # The fold refuses entries of an unknown program; nothing of it is at rest.
        programs = [name for name in touched.cases if name in state.programs]
        with ledger_errors(self.path):
            cases = {case.key: case for name in programs for case in self._cases(name, sorted(touched.cases[name]))}
            for name in touched.named.keys() & state.programs.keys():
                cases.update((case.key, case) for case in self._naming(name, touched.named[name]))
            steps = _last_steps(state, touched)
            timers, processed = list(self._due(state, touched, steps)), self._processed(touched)
        readers = self._read_cases, self._read_steps, self._rows, self._read_processed, self._read_naming
        return LedgerView(cases, timers, steps, processed, models, *readers)

    def commit(self, state: PartitionState, effects: PortionChanges) -> None:
        """Write effects, state and journal offset in one transaction."""
        self.write(state, effects)
        self.commit_written(state)

    def write(self, state: PartitionState, effects: PortionChanges) -> None:
        """Write effects, to be committed later."""
        with ledger_errors(self.path), self._or_rolled_back():
            if not self.is_written:
                self._db.execute("BEGIN IMMEDIATE")
                self._check_owner()
            self._write_programs(state, effects)
            self._write_cases(effects)
            self._write_waiting(effects)
            self._write_processed(effects)
            self._write_timers(effects)
            self._write_models(state, effects)
            write_states(self._db, state, effects)
            for program in state.programs.values():
                if (watermark_ms := state.watermark_ms(program)) is not None:
                    self._forget(program.name, watermark_ms)
            if effects.erased:
                self._db.execute("UPDATE meta SET value = 1 WHERE name = 'unscrubbed'")
            self._unwritten |= effects.shards

    @property
    def is_written(self) -> bool:
        """Whether something was written since the last commit."""
        return self._db.in_transaction

    def commit_written(self, state: PartitionState) -> None:
        """Commit what was written, with the learners, clocks and journal offset of the state to which it has led."""
        with ledger_errors(self.path), self._or_rolled_back():
            self._write_shards(state, self._unwritten)
            self._write_progress(state)
            self._db.execute("COMMIT")
        self._unwritten = set()
        self._offset = state.offset

    @property
    def is_scrubbed(self) -> bool:
        """Whether the file holds no trace of what was erased."""
        with ledger_errors(self.path):
            [(unscrubbed,)] = self._db.execute("SELECT value FROM meta WHERE name = 'unscrubbed'")
        return not unscrubbed

    def scrub(self) -> bool:
        """Write the file anew, without traces of what was deleted, and empty its write-ahead log; return whether it is.

        Where somebody reads the file meanwhile, it is not yet. ``secure_delete`` alone does not do: what SQLite moves
        from one page to another stays in the first, and is overwritten some day. It takes up to twice the ledger's size
        of free disk, a temporary file and the log: raise ``LedgerError`` without.
        """
        with ledger_errors(self.path):
            if not has_room(self.path):
                raise LedgerError(f"{self.path.parent} has less free space than twice the size of {self.path.name}")
            folder = str(self.path.parent).replace("'", "''")
            # A temporary folder may be a small one in memory. The file there is never visible to others.
            self._db.execute(f"PRAGMA temp_store_directory = '{folder}'")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA busy_timeout = 0")
            busy: int = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._db.execute("PRAGMA busy_timeout = 5000")
            if not busy:
                self._db.execute("UPDATE meta SET value = 0 WHERE name = 'unscrubbed'")
        return not busy

    def open_recourses(self) -> Counter[str]:
        """The number of recourses without a fate yet, by program."""
        query = (
            "SELECT programs.program, count(*) FROM timers JOIN programs ON id = timers.program "
            "WHERE kind = ? GROUP BY id"
        )
        with ledger_errors(self.path):
            return Counter(dict(self._db.execute(query, (WINDOW,))))

    def count_due(self, program: str, kind: str, since: Sequence[int]) -> list[int]:
        """How many timers of event time are due from each of these times on, which fall, and before the one in front.

        The last number is of those that are due before all of them.
        """
        query = "SELECT count(*) FROM timers WHERE program = ? AND kind = ? AND shard = ? AND due >= ? AND due < ?"
        edges, id = (_LATEST_MS, *since, _EARLIEST_MS), self._ids.get(program)
        with ledger_errors(self.path):
            rows = [
                self._db.execute(query, (id, kind, EVENT_TIME, first, until)).fetchone()
                for until, first in pairwise(edges)
            ]
        return [count for (count,) in rows]

    # --- opening -------------------------------------------------------------------------------------------------

    def _create_or_check(self, journal: str) -> None:
        identity = {"schema": SCHEMA_VERSION, "journal": journal, "partition": self.partition}
        if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with self._transaction():
                for statement in (*SCHEMA.split(";"), *state_tables()):
                    self._db.execute(statement)
                rows = [*identity.items(), ("offset", 0), ("generation", 0), ("engine", 0), ("engine_since", 0)]
                rows.append(("unscrubbed", 0))
                self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        kept = dict(self._db.execute("SELECT name, value FROM meta WHERE name IN ('schema', 'journal', 'partition')"))
        if kept.get("schema") != SCHEMA_VERSION:
            raise LedgerError(
                f"ledger {self.path} has schema {kept.get('schema')}, this version reads {SCHEMA_VERSION}: run the "
                "version that wrote it"
            )
        if kept != identity:
            raise LedgerError(f"ledger {self.path} belongs to {kept}, not to {identity}: use another state directory")

    # --- reading -------------------------------------------------------------------------------------------------

    def _load_models(self, state: PartitionState) -> None:
        rows = self._db.execute("SELECT program, manifest, sha256 FROM programs WHERE sha256 != first_model")
        for name, manifest, sha256 in rows.fetchall():
            program = state.programs[name]
            state.models[name] = CurrentModel.from_bundle(program, program.load(manifest, sha256))

    def _load_shards(self, state: PartitionState) -> None:
        for name, number, step, choice, learner, untold in self._db.execute("SELECT * FROM shards"):
            program = state.programs[name]
            if choice != program.spec.policy.choice:
                raise LedgerError(
                    f"ledger {self.path} holds what {choice} has learned for program {name!r}, whose policy is now "
                    f"{program.spec.policy.choice}: name {choice} in its spec (policy: choice), or rename the program"
                )
            shard = state.shards[ShardKey(name, number)] = Shard(program, number, program.learner(), step, untold)
            try:
                shard.learner.restore(unpack(learner))
            except ValueError as error:
                raise LedgerError(
                    f"ledger {self.path}: what {choice} has learned for program {name!r} does not fit it any more "
                    f"({error}): restore the version of onward that wrote it, or use another state directory"
                ) from error

    def _read_cases(self, program: str, applications: Sequence[str]) -> Iterator[Case]:
        with ledger_errors(self.path):
            yield from self._cases(program, sorted(applications))

    def _read_naming(self, program: str, names: Collection[str]) -> Iterator[Case]:
        with ledger_errors(self.path):
            yield from self._naming(program, names)

    def _naming(self, program: str, names: Collection[str]) -> Iterator[Case]:
        """The cases that name one of these applications or applicants: all are read, since no index has applicants."""
        for (body,) in self._db.execute("SELECT body FROM cases WHERE program = ?", (self._ids.get(program),)):
            case = decode_case(body)
            if not {case.key.application, case.applicant, case.previous}.isdisjoint(names):
                yield case

    def _read_processed(self, key: CaseKey) -> Mapping[ProcessedEvent, int]:
        """The processed events about a case: those whose names begin with their kind and the case's name."""
        query = "SELECT event, forget_ms FROM processed_events WHERE program = ? AND event >= ? AND event < ?"
        found: dict[ProcessedEvent, int] = {}
        with ledger_errors(self.path):
            for kind in kinds:
                if kind.about == "case":
                    first = joined(kind.name, key.application)
                    # The character behind "/" ends the range of the names that go on with it.
                    rows = self._db.execute(query, (key.program, f"{first}/", f"{first}0"))
                    found.update((ProcessedEvent(key.program, event), forget_ms) for event, forget_ms in rows)
        return found

    def _waiting(self) -> Iterator[WaitingEvent]:
        for row in self._db.execute("SELECT * FROM waiting ORDER BY journal_offset, line"):
            offset, line, *key, name, id, time_ms, timestamp_ms, expires_ms, topic, partition, read_at, payload = row
            position, kind = JournalPosition(offset, line), kinds[name]
            source = None if topic is None else TopicPartition(topic, partition)
            body, raw = kind.decode_body(payload), Raw(payload)
            entry = Entry(position, CaseKey(*key), timestamp_ms, id, time_ms, source, read_at, kind, body, raw)
            yield WaitingEvent(entry, expires_ms)

    def _cases(self, program: str, applications: Sequence[str]) -> Iterator[Case]:
        if program not in self._ids:
            return  # It begins with the portion that is being folded.
        for batch in _query_batches(applications):
            marks = ",".join("?" * len(batch))
            query = f"SELECT body FROM cases WHERE program = ? AND application IN ({marks})"
            for (body,) in self._db.execute(query, (self._ids[program], *batch)):
                yield decode_case(body)

    def _due(self, state: PartitionState, touched: Footprint, steps: Mapping[tuple[str, int], int]) -> Iterator[Timer]:
        """The timers that may fire in a portion: by its last watermarks, and by the steps that it is likely to take.

        Retention timers are left out: ``commit`` handles them.
        """
        watermarks = state.watermarks.values_after(touched.moves)
        clocks = defaultdict[str, list[tuple[int, int, int]]](list)
        for (name, shard), step in steps.items():
            clocks[name].append((shard, 0, step))
        for name, program in state.programs.items():
            if (watermark_ms := watermarks[program.watermark]) is not None:
                clocks[name].append((EVENT_TIME, _EARLIEST_MS, watermark_ms))
            yield from self._timers(name, clocks[name])

    def _read_steps(self, shard: tuple[str, int], first: int, until: int) -> list[Timer]:
        program, number = shard
        with ledger_errors(self.path):
            return list(self._timers(program, [(number, first, until)]))

    def _timers(self, program: str, clocks: Sequence[tuple[int, int, int]]) -> Iterator[Timer]:
        """Timers of a program by clock: a shard or ``EVENT_TIME``, and from when until when they are due."""
        if not clocks or program not in self._ids:
            return
        kinds = ",".join("?" * len(timer_handlers))
        query = (
            "SELECT kind, shard, due, timers.key FROM json_each(?) AS clock CROSS JOIN timers "
            f"WHERE program = ? AND kind IN ({kinds}) AND shard = json_extract(clock.value, '$[0]') "
            "AND due >= json_extract(clock.value, '$[1]') AND due < json_extract(clock.value, '$[2]')"
        )
        for row in self._db.execute(query, (json.dumps(clocks), self._ids[program], *timer_handlers)):
            yield Timer(program, *row)

    def _processed(self, touched: Footprint) -> Mapping[ProcessedEvent, int]:
        processed: dict[ProcessedEvent, int] = {}
        for program, names in touched.processed.items():
            for batch in _query_batches(sorted(names)):
                marks = ",".join("?" * len(batch))
                query = f"SELECT event, forget_ms FROM processed_events WHERE program = ? AND event IN ({marks})"
                rows = self._db.execute(query, (program, *batch))
                processed.update((ProcessedEvent(program, event), forget_ms) for event, forget_ms in rows)
        return processed

    # --- writing -------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._or_rolled_back():
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")

    @contextmanager
    def _or_rolled_back(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # After some errors, such as a full disk, SQLite has rolled back already.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _write_programs(self, state: PartitionState, effects: PortionChanges) -> None:
        """The programs that have begun, and those with another spec."""
        for name, program in state.programs.items():
            if name not in self._ids:
                self._ids[name] = insert_program(self._db, program)
        for name in effects.specs:
            write_specs(self._db, state.programs[name])

    def _write_processed(self, effects: PortionChanges) -> None:
        gone = [event for event, forget_ms in effects.processed.items() if forget_ms is None]
        self._db.executemany("DELETE FROM processed_events WHERE program = ? AND event = ?", gone)
        self._db.executemany(
            "INSERT OR REPLACE INTO processed_events VALUES (?, ?, ?)",
            [(*event, forget_ms) for event, forget_ms in effects.processed.items() if forget_ms is not None],
        )

    def _write_cases(self, effects: PortionChanges) -> None:
        ids = self._ids
        gone = [(ids[program], name) for (program, name), case in effects.cases.items() if case is None]
        self._db.executemany("DELETE FROM cases WHERE program = ? AND application = ?", gone)
        self._db.executemany(
            "INSERT INTO cases VALUES (?, ?, ?, ?) ON CONFLICT (program, application) DO UPDATE SET "
            "body = excluded.body, pooled = excluded.pooled",
            [
                (ids[program], application, encode_record(case), WAITS[case.status].pooled)
                for (program, application), case in effects.cases.items()
                if case is not None
            ],
        )

    def _write_timers(self, effects: PortionChanges) -> None:
        ids = self._ids
        rows: dict[bool, list[tuple[int, str, int, int, str]]] = {True: [], False: []}
        for (program, kind, shard, due, key), is_set in effects.timers.items():
            rows[is_set].append((ids[program], kind, shard, due, key))
        self._db.executemany(
            "DELETE FROM timers WHERE program = ? AND kind = ? AND shard = ? AND due = ? AND key = ?", rows[False]
        )
        self._db.executemany("INSERT OR IGNORE INTO timers VALUES (?, ?, ?, ?, ?)", rows[True])

    def _write_waiting(self, effects: PortionChanges) -> None:
        gone = [position for position, event in effects.waiting.items() if event is None]
        self._db.executemany("DELETE FROM waiting WHERE journal_offset = ? AND line = ?", gone)
        self._db.executemany(
            "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_row(*event) for event in effects.waiting.values() if event is not None],
        )

    def _write_shards(self, state: PartitionState, changed: Collection[ShardKey]) -> None:
        rows = []
        for key in changed:
            shard = state.shards[key]
            learned, choice = pack(shard.learner.state()), shard.program.spec.policy.choice
            rows.append((*key, shard.step, choice, learned, shard.untold))
        self._db.executemany("INSERT OR REPLACE INTO shards VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _write_models(self, state: PartitionState, effects: PortionChanges) -> None:
        for name in effects.models:
            bundle = state.models[name].bundle
            self._db.execute(
                "UPDATE programs SET version = ?, manifest = ?, sha256 = ? WHERE program = ?",
                (bundle.version, bundle.address, bundle.manifest_sha256, name),
            )

    def _check_owner(self) -> None:
        """Raise ``LedgerError`` where another worker has written meanwhile."""
        if self.progress != self.committed:
            raise LedgerError(
                f"ledger {self.path} was taken over by another worker: only one may keep a state directory"
            )

    def _write_progress(self, state: PartitionState) -> None:
        self._db.execute("UPDATE meta SET value = ? WHERE name = 'offset'", (state.offset,))
        clocks, ahead_ms = state.watermarks.clocks, state.watermarks.ahead_ms
        sources = sorted(state.positions.keys() | clocks.keys())
        self._db.executemany(
            "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?)",
            [
                (*source, state.positions.get(source), source in clocks, clocks.get(source), ahead_ms.get(source))
                for source in sources
            ],
        )
        known = list(state.watermarks.known())
        self._db.executemany("INSERT OR REPLACE INTO watermarks VALUES (?, ?)", known)

    def _forget(self, program: str, watermark_ms: int) -> None:
        """Delete the cases and processed events whose retention the watermark has passed."""
        id = self._ids[program]
        due = "SELECT key FROM timers WHERE program = ? AND kind = ? AND shard = ? AND due < ?"
        case = (id, FORGET_CASE, EVENT_TIME, watermark_ms)
        event = (id, FORGET_EVENT, EVENT_TIME, watermark_ms)
        self._db.execute(f"DELETE FROM cases WHERE program = ? AND application IN ({due})", (id, *case))
        self._db.execute(f"DELETE FROM processed_events WHERE program = ? AND event IN ({due})", (program, *event))
        for timers in (case, event):
            self._db.execute("DELETE FROM timers WHERE program = ? AND kind = ? AND shard = ? AND due < ?", timers)


def _last_steps(state: PartitionState, touched: Footprint) -> dict[tuple[str, int], int]:
    """The step of each shard up to which a portion is likely to come."""
    steps: dict[tuple[str, int], int] = {}
    for name, applications in touched.steps.items():
        if (program := state.programs.get(name)) is not None:
            counts = Counter(shard_of(application, program.spec.shards) for application in applications)
            steps.update(((name, shard), state.step_of(name, shard) + count) for shard, count in counts.items())
    return steps


def _row(entry: Entry, expires_ms: int) -> tuple[object, ...]:
    """The row of a waiting event."""
    times = entry.time_ms, entry.timestamp_ms, expires_ms
    source = entry.source or (None, None)
    named = *entry.position, *entry.key, entry.kind.name, entry.id
    return *named, *times, *source, entry.source_offset, bytes(entry.raw)


def _query_batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _PARAMETERS_A_QUERY):
        yield values[start : start + _PARAMETERS_A_QUERY]
