"""What a ledger holds of expectations, read without its program."""

from __future__ import annotations

import sqlite3
from collections import defaultdict

import msgspec

from ...agents import choices
from ..engine.reward_watch import RewardWatch
from ..engine.rewards_summary import RewardsSummary, joined, summary_of
from .array_codec import unpack
from .checksum import without_checksum


def rewards_of(db: sqlite3.Connection) -> dict[str, RewardsSummary]:
    """The programs of an open ledger whose learners expect rewards."""
    shards = defaultdict[str, list[RewardsSummary]](list)
    for program, name, learner, watch in db.execute("SELECT program, choice, learner, watch FROM shards").fetchall():
        choice = choices.registry.get(name)
        beliefs = None if choice is None else choice.beliefs_of(unpack(without_checksum(learner)))
        if beliefs is not None:
            kept = _decode_watch(without_checksum(watch))
            shards[program].append(summary_of(kept, beliefs, _features(db, program)))
    return {program: joined(parts) for program, parts in shards.items()}


def _features(db: sqlite3.Connection, program: str) -> list[str]:
    """The names of a program's features, which stay for its life."""
    (body,) = db.execute("SELECT body FROM specs WHERE program = ? ORDER BY number LIMIT 1", (program,)).fetchone()
    return [feature["name"] for feature in msgspec.json.decode(without_checksum(body))["features"]]


_decode_watch = msgspec.msgpack.Decoder(RewardWatch).decode
