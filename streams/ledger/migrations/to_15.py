"""Schema 15: a case may have been asked questions: a field at its end, which older cases lack."""

from __future__ import annotations

import sqlite3


def migrate(db: sqlite3.Connection) -> None:
    """Change nothing."""
