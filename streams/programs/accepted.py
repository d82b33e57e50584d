"""The models and specs that a worker takes: a file of the operator's, which no event can change.

    model loans 3f1c9a52d8e1b604c7aa95f20e6d7b3184ce05af2291bd6c4a7f83e0d5b61927   # a comment
    spec  loans ac136eb04faf6d2472f7beac96df6b6024dcfb9d40648ddb2125e9b1df6bcd36

Of the lines of one kind and program the last names what may be announced now, the others what was. So an older version
that somebody announces again is refused, until its line stands last again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal

from ...schemas.events import Model, RawSpec
from ...schemas.spec_document import sha256_of
from ..errors import LedgerError, UsageError
from ..journal.entries import Entry
from .announced_spec import read_spec
from .program import Program
from .spec_changes import SpecRefusedError

log = logging.getLogger(__name__)
Kind = Literal["model", "spec"]
Listed = Mapping[tuple[str, str], Sequence[str]]
LINE = re.compile(r"(model|spec)\s+(\S+)\s+([0-9a-f]{64})")
LARGEST_BYTES = 1 << 20
NOT_ACCEPTED = "not_accepted"


class AcceptedFile:
    """The list in a file, read again where its time or size has changed. Raise ``UsageError`` where it is none.

    A file that is no list any more leaves the last one in force, and is logged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._seen, self._listed = _stamp(path), _read(path)

    def refusal(self, kind: Kind, program: str, sha256: str) -> str | None:
        """Why a model's manifest or a spec may not be announced now; None where it may."""
        listed = self._current().get((kind, program), ())
        if listed and listed[-1] == sha256:
            return None
        where = "stands before the newest line of its program" if sha256 in listed else "is not listed"
        return f"the {kind} {sha256} {where} in {self.path.name}: its operator adds a last line for it (--accept)"

    def lists(self, kind: Kind, program: str, sha256: str) -> bool:
        """Whether a model's manifest or a spec stands in the list, whatever its place."""
        return sha256 in self._current().get((kind, program), ())

    def check_journal(self, entries: Iterable[Entry], programs: Mapping[str, Program]) -> None:
        """Raise ``LedgerError`` where journal lines hold a model or changed spec that was never listed."""
        for entry in entries:
            event = entry.body
            if isinstance(event, Model):
                self._check_line("model", event.program, event.sha256, entry)
            elif isinstance(event, RawSpec) and entry.source is not None:
                if (program := programs.get(event.program)) is None:
                    continue
                try:
                    sha256 = sha256_of(read_spec(event, program))
                except SpecRefusedError:
                    continue  # the engine refuses it too
                self._check_line("spec", event.program, sha256, entry)

    def _check_line(self, kind: Kind, program: str, sha256: str, entry: Entry) -> None:
        if not self.lists(kind, program, sha256):
            raise LedgerError(
                f"the journal holds at offset {entry.position.offset} the {kind} {sha256} of program {program!r}, "
                f"which {self.path} does not list: nothing is answered by it; find out who wrote it, or list it"
            )

    def _current(self) -> Listed:
        with self._lock:
            try:
                if (seen := _stamp(self.path)) != self._seen:
                    self._seen, self._listed = seen, _read(self.path, is_whole=True)
            except UsageError as error:
                log.error("the list of --accept is not used, the one before holds: %s", error)
            return self._listed


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise UsageError(f"--accept {path}: cannot be read: {error.strerror}") from None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path, *, is_whole: bool = False) -> Listed:
    """The list in a file. With ``is_whole`` it must not be one that is being written: empty, or cut within a line."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_BYTES + 1).decode()
    except OSError as error:
        raise UsageError(f"--accept {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--accept {path}: is no UTF-8") from None
    if len(text) > LARGEST_BYTES:
        raise UsageError(f"--accept {path}: is larger than {LARGEST_BYTES} bytes")
    if is_whole and not text.endswith("\n"):
        raise UsageError(f"--accept {path}: is not written to its end")
    listed: dict[tuple[str, str], list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.partition("#")[0].strip()):
            continue
        found = LINE.fullmatch(words)
        if found is None:
            raise UsageError(f"--accept {path}:{number}: write `model PROGRAM SHA256` or `spec PROGRAM SHA256`")
        kind, program, sha256 = found.groups()
        listed.setdefault((kind, program), []).append(sha256)
    return listed
