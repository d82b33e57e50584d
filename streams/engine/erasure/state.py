"""The people who were erased in a program: as hashes, by which what they sent before is recognised when it comes again.

The key of the hashes is random, and came with an erasure. It is used until the last of them is forgotten.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct

from ...journal.entries import CaseKey
from ...programs.program import Program
from ..contract import TimerHandler
from ..fold import Fold
from ..program_state import ProgramState, RowTable, StoredProgram
from ..timing.timers import EVENT_TIME, Timer

FORGET_ERASED: Final = "forget-erased"
"""The timer that forgets an erased name. The key is its hash."""
HASH_BYTES = 32
MOST_KEY_BYTES = 64
"""As much of a key as BLAKE2b takes; ingest draws one of this length."""
Named = Literal["application", "applicant"]


class ErasedName(Struct, frozen=True, gc=False, array_like=True):
    """The hash of an erased name, as the ``application`` of the key. It is forgotten at the event time ``forget_ms``.

    ``until_ms`` is the event time of the erasure. What an applicant sends after it is new. An application has none: its
    name is not used again. Stored as an array: never reorder the fields.
    """

    key: CaseKey
    forget_ms: int
    until_ms: int | None = None


ERASED_NAMES = RowTable("erased_names", ErasedName)


class Erasures(ProgramState, array_like=True):
    """The ``key`` of the hashes, and how many are ``kept``. Stored as an array: never reorder the fields.

    ``hashes`` are those of all rows: nearly everybody is in none, and need not be looked up.
    """

    table: ClassVar[str] = "erasures"
    rows: ClassVar[Any] = (ERASED_NAMES,)

    key: str = ""
    kept: int = 0

    def begin(self, program: Program) -> None:
        """Nobody was erased."""
        super().begin(program)
        self.hashes: set[str] = set()

    def restore(self, stored: StoredProgram) -> None:
        """Go on with the hashes of the rows."""
        self.hashes = {row.key.application for row in stored.rows(ERASED_NAMES)}

    def hash_of(self, program: str, named: Named, name: str) -> CaseKey:
        """The hash of a name, as the key of a row: BLAKE2b with the key."""
        message, key = f"{program}\0{named}\0{name}".encode(), self.key.encode()[:MOST_KEY_BYTES]
        return CaseKey(program, blake2b(message, digest_size=HASH_BYTES, key=key).hexdigest())


def remember_erased(
    program: Program, named: Named, name: str, key: str, time_ms: int, until_ms: int | None, fold: Fold
) -> None:
    """Remember a name that was erased at this event time, until its retention is over."""
    state, rows = fold.change(Erasures, program), fold.rows(ERASED_NAMES)
    if not state.kept:
        state.key = key
    hashed = state.hash_of(program.name, named, name)
    before = rows.get(hashed)
    if before is None:
        state.kept += 1
    else:
        fold.timers.cancel(_end_of(before))
    state.hashes.add(hashed.application)
    row = ErasedName(hashed, fold.forget_ms(program, time_ms), until_ms)
    rows.put(row)
    fold.timers.set(_end_of(row))


def erased_name(program: str, named: Named, name: str, fold: Fold) -> ErasedName | None:
    """What is remembered of a name; None where nobody of this name was erased."""
    state = fold.state.get(Erasures, program)
    if state is None or not state.kept:
        return None
    hashed = state.hash_of(program, named, name)
    return fold.rows(ERASED_NAMES).get(hashed) if hashed.application in state.hashes else None


class ForgetErasedTimerHandler(TimerHandler):
    """Forgets erased names whose retention is over."""

    kind: ClassVar[str] = FORGET_ERASED
    about_case: ClassVar[bool] = False

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Forget one; with the last one the key."""
        state = fold.change(Erasures, fold.state.program(timer.program))
        fold.rows(ERASED_NAMES).delete(CaseKey(timer.program, timer.key))
        state.hashes.discard(timer.key)
        state.kept -= 1
        if not state.kept:
            state.key = ""


def _end_of(row: ErasedName) -> Timer:
    program, hashed = row.key
    return Timer(program, FORGET_ERASED, EVENT_TIME, row.forget_ms, hashed)
