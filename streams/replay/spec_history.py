"""The specs of a program by the journal: the first one, and those that took effect after it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...schemas.events import RawSpec
from ...schemas.kinds import kinds
from ...schemas.problems import JSON_ERRORS
from ...schemas.spec_document import spec_of
from ...schemas.specfile import LoadedSpec
from ..engine.timing.watermark import required_topics
from ..errors import UsageError
from ..journal.lines import is_spec_again, read_entries
from ..ledger.ledger import Ledger
from ..programs.announced_spec import OTHER_MODEL, check_announced, read_spec
from ..programs.assembly import address_of, assemble
from ..programs.bundle.loader import read_manifest
from ..programs.program import Program
from ..programs.spec_changes import SpecRefusedError
from ..records import Record, TopicPartition
from ..topics import Topics
from ..worker_defaults import WAITING_LIMIT

_SPEC = kinds["spec"]
_TYPE = _SPEC.ce_type.encode()


class LedgerSpecs(NamedTuple):
    """What a ledger knows of a program's specs.

    ``program`` is under the one in force, None where it has not begun. ``read`` holds the last offset that was taken of
    each partition of the topic of specs.
    """

    program: Program | None
    read: Mapping[TopicPartition, int]


def specs_of_ledger(path: Path, journal: TopicPartition, given: Program, topics: Topics) -> LedgerSpecs:
    """The specs of a program in a ledger that holds no other; ``given`` is the program as its file says.

    Raise ``LedgerError`` where that cannot be the program that the ledger was written with.
    """
    with closing(Ledger(path, *journal)) as ledger:
        state = ledger.load({given.name: given}, required_topics(topics), WAITING_LIMIT)
    read = {source: offset for source, offset in state.positions.items() if source.topic == topics.specs}
    return LedgerSpecs(state.programs.get(given.name), read)


class SpecHistory:
    """Reads the journal partition of one of a program's shards, then what the topic of specs holds beyond it."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._begun: Program | None = None
        self._first: RawSpec | None = None
        self._is_cut: bool | None = None
        self._was_repeated = False
        self._later: list[tuple[RawSpec, bool]] = []  # and whether ingest has taken it
        self.read: dict[TopicPartition, int] = {}
        """The last offset that was read of each partition of the topic of specs."""

    @property
    def has_begun(self) -> bool:
        """Whether a worker has declared the program."""
        return self._begun is not None or self._first is not None

    def begin_at(self, ledger: LedgerSpecs) -> None:
        """Begin where a ledger stands instead of at the journal's beginning: the journal is whole from there on."""
        self._begun, self._is_cut = ledger.program, False
        self.read.update(ledger.read)

    def feed_journal(self, record: Record) -> None:
        """Take the next record of the journal partition.

        Where the journal's beginning is gone, a program begins with the spec in force that is repeated there: what a
        worker has declared at its start may be older.
        """
        if self._is_cut is None:
            self._is_cut = record.first_offset > 0
        if _TYPE not in (record.value or b""):
            return
        for entry in read_entries(record):
            event = entry.body
            if not isinstance(event, RawSpec):
                continue
            if entry.source is not None:
                self._announced(event, entry.source, entry.source_offset, is_taken=True)
            elif event.program == self._program:
                repeats = self._is_cut and not self._was_repeated and is_spec_again(entry)
                if repeats or not self.has_begun:
                    self._first, self._was_repeated = event, bool(repeats)

    def feed_announced(self, record: Record) -> None:
        """Take the next record of the topic of specs."""
        try:
            event: RawSpec = _SPEC.decode_body(record.value or b"")
        except JSON_ERRORS:
            return
        self._announced(event, TopicPartition(record.topic, record.partition), record.offset, is_taken=False)

    def _announced(self, event: RawSpec, source: TopicPartition, offset: int, *, is_taken: bool) -> None:
        if offset > self.read.get(source, -1):
            self.read[source] = offset
            if event.program == self._program:
                self._later.append((event, is_taken))

    def program(self, given: LoadedSpec) -> Program:
        """The program under the last of its specs.

        ``given`` is a spec of it that names the program's first model. Raise ``SpecRefusedError`` where it names
        another one, ``UsageError`` where the journal does not know the program, and ``ModelError``.
        """
        program = self._begun or self._first_of(given)
        for event, is_taken in self._later:
            try:
                if not is_taken:
                    check_announced(event, program)
                program = program.changed(read_spec(event, program))
            except SpecRefusedError:
                continue  # It is a dead letter, and changes nothing.
        return program

    def _first_of(self, given: LoadedSpec) -> Program:
        """The program under its first spec."""
        if self._first is None:
            raise UsageError(f"no worker has declared program {self._program!r}")
        _, sha256 = read_manifest(address_of(given), redirects=True)
        if sha256 != self._first.model:
            raise SpecRefusedError(OTHER_MODEL.format(sha256, self._first.model))
        try:
            first = spec_of(self._first.spec, given.spec.model.manifest)
        except msgspec.MsgspecError as error:
            raise UsageError(f"this version cannot read the first spec of program {self._program!r}: {error}") from None
        return assemble(LoadedSpec(first, given.path), has_begun=True)
