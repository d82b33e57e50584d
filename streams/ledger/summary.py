"""Summaries of the ledgers of a state directory, read without disturbing the worker that writes them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...agents import choices
from ..engine.promises.promised_options import PROMISED_OPTIONS
from ..engine.promises.state import PromiseState
from ..engine.rewards.summary import RewardsSummary, joined, summary_of
from ..engine.rewards.watch import RewardWatch
from ..engine.rounds.promised_scores import PROMISED_SCORES
from ..engine.rounds.state import ProgramRounds
from ..engine.timing.timers import WINDOW
from .array_codec import record_decoder, unpack
from .checksum import without_checksum
from .reader import ledgers_in, meta_of, reading


class RoundsSummary(NamedTuple):
    """The rounds of a program with limited places. ``waiting`` counts the applications whose round is not closed.

    ``last_round`` and ``last_end_ms`` are the number and end of the last closed round; ``next_end_ms`` is the end of
    the earliest one that is due. ``coverage`` is None before anybody came back with their target score.
    """

    waiting: int
    open_promises: int
    last_round: int | None
    last_end_ms: int | None
    next_end_ms: int | None
    coverage: float | None


class PromisesSummary(NamedTuple):
    """The open options of a program that promises them, and of how many people.

    While a new model is asked about the open options, ``unseen`` are those that it has not been, ``scan_model`` is its
    version and ``scan_since_ms`` the event time at which it came; else all three are None.
    """

    open_options: int
    people: int
    unseen: int | None
    scan_model: str | None
    scan_since_ms: int | None


class ProgramSummary(NamedTuple):
    """One program in one ledger. ``spec`` is the hash of the spec in force. ``steps`` counts its answers,
    ``open_recourses`` those without a fate yet.

    ``begun`` is True once the ledger has folded an answer or a model event of the program. Before that, ``model`` is
    the program's first model, even when other ledgers have a newer one. A ledger that owns none of the program's shards
    may never begin it. ``rounds`` is None without limited places, and until the first application or round.
    ``promises`` is None where options are not promised, and until the first is open. ``rewards`` is None where the
    learner expects none, and before the first answer.
    """

    program: str
    spec: str
    model: str
    begun: bool
    shards: int
    steps: int
    open_recourses: int
    rounds: RoundsSummary | None = None
    promises: PromisesSummary | None = None
    rewards: RewardsSummary | None = None


class LatestEvent(NamedTuple):
    """The latest event time that was read from an input partition."""

    topic: str
    partition: int
    time_ms: int


class LedgerSummary(NamedTuple):
    """One ledger. ``offset`` is the next journal offset to fold, ``watermark_ms`` the event time that
    all its programs have reached, if any. ``latest`` are the input partitions that have been heard of."""

    path: Path
    partition: int
    offset: int
    watermark_ms: int | None
    waiting_events: int
    programs: tuple[ProgramSummary, ...]
    latest: tuple[LatestEvent, ...] = ()


def summaries(state_dir: Path) -> list[LedgerSummary]:
    """Every ledger of the folder by partition; ``LedgerError`` when there is none or one cannot be read.

    A ledger that a worker is creating at this moment has no table yet, and is left out.
    """
    return sorted(filter(None, map(_summary, ledgers_in(state_dir))), key=lambda summary: summary.partition)


def _summary(path: Path) -> LedgerSummary | None:
    with reading(path) as db:
        meta = meta_of(path, db)
        if meta is None:
            return None
        (watermark,) = db.execute(_WATERMARK).fetchone()
        waiting = db.execute("SELECT count(*) FROM waiting").fetchone()[0]
        rounds = {name: _rounds(body, count) for name, body, count in db.execute(_ROUNDS)}
        promises = {name: _promises(body, people) for name, body, people in db.execute(_PROMISES)}
        rewards = _rewards(db)
        programs = tuple(
            ProgramSummary(
                *(name, spec, model, bool(begun), shards, steps, open_recourses),
                *(rounds.get(name), promises.get(name), rewards.get(name)),
            )
            for name, spec, model, begun, shards, steps, open_recourses in db.execute(_PROGRAMS)
        )
        latest = tuple(LatestEvent(*row) for row in db.execute(_LATEST))
        return LedgerSummary(path, meta["partition"], meta["offset"], watermark, waiting, programs, latest)


def _rounds(body: bytes, open_promises: int) -> RoundsSummary:
    record = _decode_rounds(body)
    number = None if record.last_end_ms is None else record.last_number
    return RoundsSummary(
        record.waiting, open_promises, number, record.last_end_ms, record.next_end_ms, record.promise_counts.coverage
    )


def _promises(body: bytes, people: int) -> PromisesSummary:
    record = _decode_promises(body)
    scan = (None, None, None) if record.scan is None else (record.scan.unseen, record.scan.version, record.scan.time_ms)
    return PromisesSummary(sum(record.open.values()), people, *scan)


def _rewards(db: sqlite3.Connection) -> dict[str, RewardsSummary]:
    """The programs of a ledger whose learners expect rewards."""
    shards = defaultdict[str, list[RewardsSummary]](list)
    for program, shard, name, learner in db.execute("SELECT program, shard, choice, learner FROM shards").fetchall():
        choice = choices.registry.get(name)
        spec = _first_spec(db, program)
        doubts_level = spec["label"].get("missing") is not None
        beliefs = None if choice is None else choice.beliefs_of(unpack(learner), doubts_level=doubts_level)
        if beliefs is not None:
            shards[program].append(summary_of(_watch(db, program, shard), beliefs, _features(spec)))
    return {program: joined(parts) for program, parts in shards.items()}


def _watch(db: sqlite3.Connection, program: str, shard: int) -> RewardWatch:
    query = f"SELECT body FROM {RewardWatch.table} WHERE program = ? AND shard = ?"
    row = db.execute(query, (program, shard)).fetchone()
    return RewardWatch() if row is None else _decode_watch(row[0])


def _first_spec(db: sqlite3.Connection, program: str) -> dict[str, Any]:
    """The first spec of a program; its label and the names of its features stay for its life."""
    (body,) = db.execute("SELECT body FROM specs WHERE program = ? ORDER BY number LIMIT 1", (program,)).fetchone()
    return msgspec.json.decode(without_checksum(body), type=dict[str, Any])


def _features(spec: Mapping[str, Any]) -> list[str]:
    """The names of a spec's features."""
    return [feature["name"] for feature in spec["features"]]


_decode_promises = record_decoder(PromiseState)
_decode_watch = record_decoder(RewardWatch)
_decode_rounds = record_decoder(ProgramRounds)
_WATERMARK = """
SELECT CASE count(*) WHEN count(time_ms) THEN min(time_ms) END
FROM (SELECT DISTINCT watermark FROM programs) LEFT JOIN watermarks USING (watermark)
"""
_LATEST = """
SELECT topic, partition, max(time_ms, coalesce(ahead_ms, time_ms)) FROM sources
WHERE time_ms IS NOT NULL ORDER BY topic, partition
"""
_PROGRAMS = f"""
SELECT program, spec, version,
    sha256 != first_model OR EXISTS (SELECT 1 FROM shards WHERE shards.program = programs.program),
    (SELECT count(*) FROM shards WHERE shards.program = programs.program),
    (SELECT coalesce(sum(step), 0) FROM shards WHERE shards.program = programs.program),
    (SELECT count(*) FROM timers WHERE timers.program = programs.id AND kind = '{WINDOW}')
FROM programs ORDER BY program
"""
_COUNTED = """
SELECT program, body, (SELECT count(*) FROM {rows} WHERE {rows}.program = {table}.program) FROM {table}
"""
_PROMISES = _COUNTED.format(table=PromiseState.table, rows=PROMISED_OPTIONS.name)
_ROUNDS = _COUNTED.format(table=ProgramRounds.table, rows=PROMISED_SCORES.name)
