"""What the learners of a program have learned, read from the ledgers of a state directory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ...agents.choices import Choice
from ..programs.program import Program
from .array_codec import unpack
from .checksum import without_checksum


def learners(state_dir: Path, program: Program) -> Iterator[Choice]:
    """The learner of every shard of a program that has answered anybody. The ledgers are only read."""
    for path in sorted(state_dir.glob("*.sqlite")):
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT learner FROM shards WHERE program = ? ORDER BY shard", (program.name,))
            for (learned,) in rows.fetchall():
                learner = program.learner()
                learner.restore(unpack(without_checksum(learned)))
                yield learner
