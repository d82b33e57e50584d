"""What a ledger holds of expectations, read without its program."""

from __future__ import annotations

import sqlite3
from collections import defaultdict

import msgspec

from ...agents import choices
from ..engine.rewards.summary import RewardsSummary, joined, summary_of
from ..engine.rewards.watch import RewardWatch
from .array_codec import record_decoder, unpack
from .checksum import without_checksum


def rewards_of(db: sqlite3.Connection) -> dict[str, RewardsSummary]:
    """The programs of an open ledger whose learners expect rewards."""
    shards = defaultdict[str, list[RewardsSummary]](list)
    for program, shard, name, learner in db.execute("SELECT program, shard, choice, learner FROM shards").fetchall():
        choice = choices.registry.get(name)
        beliefs = None if choice is None else choice.beliefs_of(unpack(learner))
        if beliefs is not None:
            shards[program].append(summary_of(_watch(db, program, shard), beliefs, _features(db, program)))
    return {program: joined(parts) for program, parts in shards.items()}


def _watch(db: sqlite3.Connection, program: str, shard: int) -> RewardWatch:
    query = f"SELECT body FROM {RewardWatch.table} WHERE program = ? AND shard = ?"
    row = db.execute(query, (program, shard)).fetchone()
    return RewardWatch() if row is None else _decode_watch(row[0])


def _features(db: sqlite3.Connection, program: str) -> list[str]:
    """The names of a program's features, which stay for its life."""
    (body,) = db.execute("SELECT body FROM specs WHERE program = ? ORDER BY number LIMIT 1", (program,)).fetchone()
    return [feature["name"] for feature in msgspec.json.decode(without_checksum(body))["features"]]


_decode_watch = record_decoder(RewardWatch)
