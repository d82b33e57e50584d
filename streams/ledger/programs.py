"""The programs of a ledger: those that the journal has begun, with all their specs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...schemas.spec_document import BEFORE_OBJECTIVES, document, spec_of
from ..engine.timing.timers import EVENT_TIME, WINDOW
from ..errors import LedgerError
from ..programs.program import Program
from ..programs.spec_changes import SpecRefusedError
from .checksum import with_checksum, without_checksum


def programs_in_force(db: sqlite3.Connection, ledger: Path, given: Mapping[str, Program]) -> dict[str, Program]:
    """The programs that a ledger holds, each under the spec that is in force.

    ``given`` are the worker's programs as their files say. Raise ``LedgerError`` where one is missing, or cannot be the
    program that the ledger was written with.
    """
    begun: dict[str, Program] = {}
    for name, first_model in db.execute("SELECT program, first_model FROM programs ORDER BY id").fetchall():
        program = given.get(name)
        if program is None:
            raise LedgerError(f"ledger {ledger} holds program {name!r}: start the worker with its spec too")
        if program.bundle.manifest_sha256 != first_model:
            raise LedgerError(
                f"the first model of program {name!r} is not the one ledger {ledger} was written with: restore it in "
                "the spec, give a changed program a new name, or announce a new model with `onward models announce`"
            )
        try:
            begun[name] = in_force(db, program)
        except SpecRefusedError as error:
            raise LedgerError(
                f"program {name!r} of ledger {ledger} cannot go on with this spec: {error}; restore it, or give a "
                "changed program a new name"
            ) from None
        except msgspec.MsgspecError as error:
            raise LedgerError(
                f"ledger {ledger} holds a spec of program {name!r} that this version cannot read ({error}): run the "
                "version that wrote it"
            ) from None
    return begun


def in_force(db: sqlite3.Connection, program: Program) -> Program:
    """A program under the last of its specs."""
    rows = db.execute("SELECT body FROM specs WHERE program = ? ORDER BY number", (program.name,)).fetchall()
    if not rows:
        _check_before_specs(db, program)
        write_specs(db, program)
        return program.begun_with(program.spec)
    first, *later = (spec_of(bytes(without_checksum(body)), program.spec.model.manifest) for (body,) in rows)
    in_force = program.begun_with(first)
    for spec in later:
        in_force = in_force.changed(spec)
    return in_force


def _check_before_specs(db: sqlite3.Connection, program: Program) -> None:
    """Refuse a file that means something else than it did in a ledger before schema 12, which keeps no specs.

    What a file left out then has another default today.
    """
    policy, must = program.spec.policy, []
    if policy.objective != BEFORE_OBJECTIVES:
        must.append(f"objective: {BEFORE_OBJECTIVES}")
    shards = db.execute("SELECT DISTINCT choice FROM shards WHERE program = ?", (program.name,))
    must += [f"choice: {choice}" for (choice,) in shards if choice != policy.choice]
    windows = (
        "SELECT min(shard = ?) FROM timers JOIN programs ON id = timers.program WHERE kind = ? AND programs.program = ?"
    )
    [(by_time,)] = db.execute(windows, (EVENT_TIME, WINDOW, program.name)).fetchall()
    if by_time is not None and bool(by_time) != (policy.window.length is not None):
        must.append("window: {time: ...} as it was" if by_time else "window: {steps: 10}, or the steps that it named")
    if must:
        raise SpecRefusedError(
            f"a file of the version that wrote the ledger left out what has another default now; write under policy: "
            f"{'; '.join(must)}"
        )


def insert_program(db: sqlite3.Connection, program: Program) -> int:
    """Add a program, and return the number that stands for it in other tables."""
    first, sha256 = program.bundle, program.bundle.manifest_sha256
    row = db.execute(
        "INSERT INTO programs (program, watermark, spec, first_model, version, manifest, sha256) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (program.name, program.watermark, program.sha256, sha256, first.version, first.address, sha256),
    )
    id: int = row.fetchone()[0]
    write_specs(db, program)
    return id


def write_specs(db: sqlite3.Connection, program: Program) -> None:
    """Write the specs of a program, and the hash of the one that is in force."""
    rows = [
        (program.name, number, with_checksum(document(spec)))
        for number, spec in enumerate((*program.earlier, program.spec))
    ]
    db.executemany("INSERT OR IGNORE INTO specs VALUES (?, ?, ?)", rows)
    db.execute("UPDATE programs SET spec = ? WHERE program = ?", (program.sha256, program.name))
