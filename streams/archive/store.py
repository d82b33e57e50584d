"""The archive's files at an fsspec address.

    archive = Archive("s3://bucket/onward-archive")
    segment = archive.write_segment(TopicPartition("journal", 3), 0, 500, "2026-10", records)
    records = archive.read_segment(segment)

``ADDRESS/JOURNAL-PARTITION/`` holds segments, ``FIRST-END-MONTH.segment.gz``, and checkpoints,
``OFFSET-MONTH.checkpoint.sqlite``: ledgers from which the records from that offset on can be folded. Nothing here
deletes a file, and what a file holds never changes. Segments may overlap.

With keys of months all files are sealed, and their names end with ``.sealed``: others are neither written nor read. All
files of an address are sealed, or none: nothing is written beside the other kind.

All calls block: run them in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import IO, NamedTuple

from ..errors import one_line
from ..private_folder import make_private_file
from ..records import Record, TopicPartition
from ..shared_files import appearing, file_system, make_folder
from .month_keys import MonthKeys, NoKeyError
from .sealing import BLOCK_BYTES, SUFFIX, SealError, is_of_key, read_head, seal, unseal
from .segments import SegmentFormatError, decode_segment, encode_segment, header_of

LARGEST_SEGMENT_BYTES = 256 << 20

_SEGMENT = re.compile(r"(\d{20})-(\d{20})-(\d{4}-\d{2})\.segment\.gz", re.ASCII)
_CHECKPOINT = re.compile(r"(\d{20})-(\d{4}-\d{2})\.checkpoint\.sqlite", re.ASCII)
_LATEST_MS = 253_402_300_799_000
"""The last second of the year 9999."""


class ArchiveError(Exception):
    """The archive cannot be written or read. The journal remains."""


class SegmentFile(NamedTuple):
    """A segment: the records of a journal partition from offset ``first`` to below ``end``, of a month YYYY-MM."""

    journal: TopicPartition
    first: int
    end: int
    month: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.first:020}-{self.end:020}-{self.month}.segment.gz"


class CheckpointFile(NamedTuple):
    """A ledger of a journal partition that stands at ``offset``; the record there is of a month YYYY-MM."""

    journal: TopicPartition
    offset: int
    month: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.offset:020}-{self.month}.checkpoint.sqlite"


ArchiveFile = SegmentFile | CheckpointFile


def month_of(time_ms: int) -> str:
    """The month of a time in UTC, YYYY-MM; the nearest one for a time that has none."""
    return datetime.fromtimestamp(min(max(time_ms, 0), _LATEST_MS) / 1000, UTC).strftime("%Y-%m")


class Archive:
    """The archive of all journal partitions at one address, sealed where ``keys`` give that of a month (32 bytes)."""

    def __init__(self, address: str, keys: Callable[[str], bytes] | None = None) -> None:
        self._system, self._root = file_system("--archive", address)
        self._keys = keys
        self._is_alike = False

    def segments(self, journal: TopicPartition) -> list[SegmentFile]:
        """The segments of a journal partition, by their first offset; raise ``ArchiveError``."""
        found = (_SEGMENT.fullmatch(name) for name in self._own_names(journal))
        return sorted(SegmentFile(journal, int(name[1]), int(name[2]), name[3]) for name in found if name)

    def checkpoints(self, journal: TopicPartition) -> list[CheckpointFile]:
        """The checkpoints of a journal partition, oldest first; raise ``ArchiveError``."""
        found = (_CHECKPOINT.fullmatch(name) for name in self._own_names(journal))
        return sorted(CheckpointFile(journal, int(name[1]), name[2]) for name in found if name)

    def holds_others(self, journal: TopicPartition) -> bool:
        """Whether there are files of a journal partition that are sealed and these are not, or the other way round."""
        return len(self._own_names(journal)) < len(self._names(journal))

    def write_segment(self, segment: SegmentFile, records: Sequence[Record]) -> None:
        """Write a segment; raise ``ArchiveError``."""
        header = header_of(segment.journal, segment.first, segment.end)
        self._write(segment, [encode_segment(header, records)])

    def read_segment(self, segment: SegmentFile) -> list[Record]:
        """The records of a segment; raise ``ArchiveError``."""
        path = self._path(segment)
        content = bytearray()
        for block in self._blocks(segment):
            content += block
            if len(content) > LARGEST_SEGMENT_BYTES:
                raise ArchiveError(f"{path} is larger than {LARGEST_SEGMENT_BYTES >> 20} MiB")
        try:
            return decode_segment(header_of(segment.journal, segment.first, segment.end), bytes(content))
        except SegmentFormatError as error:
            raise ArchiveError(f"{path}: {error}") from error

    def write_checkpoint(self, checkpoint: CheckpointFile, ledger: Path, stop: Event) -> None:
        """Write a checkpoint, a copy of a ledger that nobody writes to; raise ``ArchiveError``."""
        self._write(checkpoint, _content(ledger, stop))

    def fetch_checkpoint(self, checkpoint: CheckpointFile, target: Path, stop: Event) -> None:
        """Copy a checkpoint to ``target``, unchecked; raise ``ArchiveError``."""
        make_private_file(target)
        with target.open("wb") as file:
            for block in self._blocks(checkpoint):
                _check(stop)
                file.write(block)

    @property
    def is_sealed(self) -> bool:
        """Whether its files are sealed."""
        return self._keys is not None

    def has_key(self, month: str) -> bool:
        """Whether files of a month can be read: it has a key, or they are not sealed; raise ``ArchiveError``."""
        try:
            if self._keys is not None:
                self._keys(month)
        except NoKeyError:
            return False
        except Exception as error:
            raise ArchiveError(one_line(error)) from error
        return True

    # --- the address -------------------------------------------------------------------------------------------------

    def _folder(self, journal: TopicPartition) -> str:
        return f"{self._root}/{journal.topic}-{journal.partition}"

    def _path(self, file: ArchiveFile) -> str:
        return f"{self._folder(file.journal)}/{file.name}{self._suffix}"

    @property
    def _suffix(self) -> str:
        return SUFFIX if self.is_sealed else ""

    def _own_names(self, journal: TopicPartition) -> list[str]:
        """The names of the files that are sealed as all are here, without the suffix that says so."""
        names = (name for name in self._names(journal) if name.endswith(SUFFIX) is self.is_sealed)
        return [name.removesuffix(SUFFIX) for name in names]

    def _names(self, journal: TopicPartition) -> list[str]:
        folder = self._folder(journal)
        with _archive_errors(folder):
            self._system.invalidate_cache(folder)
            try:
                paths = self._system.ls(folder, detail=False)
            except FileNotFoundError:
                return []
        return sorted(str(path).rpartition("/")[2] for path in paths)

    def _write(self, target: ArchiveFile, blocks: Iterable[bytes]) -> None:
        path = self._path(target)
        with _archive_errors(path):
            self._check_alike(path.rpartition("/")[0])
            if self._keys is not None:
                key = self._keys(target.month)
                self._check_key(target, key)
                blocks = seal(blocks, key, _place(target))
            make_folder(self._system, self._root, path.rpartition("/")[0])
            with appearing(self._system, path) as file:
                for block in blocks:
                    file.write(block)
            self._system.invalidate_cache(path)

    def _blocks(self, source: ArchiveFile) -> Iterator[bytes]:
        path = self._path(source)
        with _archive_errors(path):
            key = None if self._keys is None else self._keys(source.month)
            with self._system.open(path, "rb", block_size=BLOCK_BYTES) as file:
                yield from _plain(file) if key is None else unseal(file, key, _place(source))

    def _check_alike(self, folder: str) -> None:
        """Refuse to write where files are sealed and these are not, or the other way round: nobody could read both.

        The whole address is looked through once, then the folder that is written to.
        """
        place = folder if self._is_alike else self._root
        self._system.invalidate_cache(place)
        for path in self._system.find(place):
            name = str(path).rpartition("/")[2]
            if _is_file(name.removesuffix(SUFFIX)) and name.endswith(SUFFIX) is not self.is_sealed:
                raise ArchiveError(
                    f"{path} is not sealed: seal into another address"
                    if self.is_sealed
                    else f"{path} is sealed: give --archive-key-command, or another address"
                )
        self._is_alike = True

    def _check_key(self, target: ArchiveFile, key: bytes) -> None:
        """Refuse another key of a month than the one that files of it were sealed with: one key opens a month."""
        for name in self._own_names(target.journal):
            match = _SEGMENT.fullmatch(name) or _CHECKPOINT.fullmatch(name)
            if match is None or match.groups()[-1] != target.month:
                continue
            with self._system.open(f"{self._folder(target.journal)}/{name}{SUFFIX}", "rb") as file:
                head = read_head(file)
            try:
                is_same = is_of_key(head, key)
            except SealError:
                continue
            if not is_same:
                raise SealError(f"{name}{SUFFIX} was sealed with another key of {target.month}")
            return


def archive_at(address: str, key_command: str | None) -> Archive:
    """The archive at an address, sealed where a command prints keys; raise ``UsageError``."""
    return Archive(address, None if key_command is None else MonthKeys(key_command))


def _is_file(name: str) -> bool:
    return (_SEGMENT.fullmatch(name) or _CHECKPOINT.fullmatch(name)) is not None


def _place(file: ArchiveFile) -> str:
    return f"{file.journal.topic}-{file.journal.partition}/{file.name}"


def _plain(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _content(path: Path, stop: Event) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            _check(stop)
            yield block


def _check(stop: Event) -> None:
    if stop.is_set():
        raise ArchiveError("it was stopped before it was complete")


@contextmanager
def _archive_errors(path: str) -> Iterator[None]:
    """Turn the errors of any file system into ``ArchiveError``."""
    try:
        yield
    except ArchiveError:
        raise
    except Exception as error:
        raise ArchiveError(f"{path}: {one_line(error)}") from error
