"""Who has looked at a case, and which links were taken back."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..errors import LedgerError
from ..ledger.file import connected, ledger_errors
from .case_store import FILE
from .links import PageLink

NOTE_MS = 1000
"""How long a note waits for other writers of the file."""


class Look(NamedTuple):
    """What somebody did with a case on a day of UTC, how often, and why, where they were asked."""

    day: str
    who: str
    what: str
    why: str
    times: int


class Looks:
    """The audit of a console's folder, whose file a ``CaseStore`` has made. Raises ``LedgerError``.

    ``now`` gives the seconds since the epoch.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = folder / FILE, now
        with ledger_errors(self._path):
            self._db = connected(self._path, "mode=rw")
            self._db.isolation_level = None
            self._db.execute(f"PRAGMA busy_timeout={NOTE_MS}")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def note(self, handle: str, who: str, what: str, why: str = "", *, must: bool = False) -> None:
        """Note that somebody has done something with a case; what cannot be noted goes on, unless it ``must`` be."""
        day = datetime.fromtimestamp(self._now(), UTC).date().isoformat()
        with nullcontext() if must else suppress(LedgerError), ledger_errors(self._path):
            self._db.execute(
                "INSERT INTO looks VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
                (handle, day, who, what, why),
            )

    def of_case(self, handle: str) -> list[Look]:
        """What was noted of a case, the newest day first."""
        with ledger_errors(self._path):
            rows = self._db.execute(
                "SELECT day, who, what, why, times FROM looks WHERE handle = ? ORDER BY day DESC, who, what", (handle,)
            ).fetchall()
        return [Look(*row) for row in rows]

    def revoke(self, handle: str) -> None:
        """Take back all links to a case that were made until now."""
        with ledger_errors(self._path):
            self._db.execute("INSERT OR REPLACE INTO revoked VALUES (?, ?)", (handle, int(self._now())))

    def is_revoked(self, link: PageLink) -> bool:
        """Whether a link was taken back."""
        with ledger_errors(self._path):
            row = self._db.execute("SELECT before FROM revoked WHERE handle = ?", (link.handle,)).fetchone()
        return row is not None and link.made <= row[0]
