"""Schema 11: goals of rounds keep the spread of newcomers' scores; ``capacity`` the places of eight rounds, the grid of
its scores, and how far it searches."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .bodies import body_of, packed_array, read_array, read_body

PLACES_KEPT = 8
GRID = (0.0, 0.05)
"""Middle and spacing of the grid, in logits: until then that of every goal."""
WIDENING = 2.0 / 1.4
"""How far goals were searched, in the least radii of schema 11, where the spread is 1."""
LEARNED = 7
"""The place of the packed arrays among the fields of a program's rounds."""


def migrate(db: sqlite3.Connection) -> None:
    """Add what goals had not kept, as in a new goal, and the constants that they went by."""
    for program, body in db.execute("SELECT program, body FROM rounds").fetchall():
        record = read_body(body)
        record[LEARNED] = _completed(msgspec.msgpack.decode(record[LEARNED]))
        db.execute("UPDATE rounds SET body = ? WHERE program = ?", (body_of(record), program))


def _completed(learned: dict[str, Any]) -> bytes:
    new: dict[str, NDArray[Any]] = {"goal_spread_sums": np.zeros(2), "goal_spread_last": np.zeros(2)}
    if "goal_places" in learned:
        places = np.zeros(PLACES_KEPT, dtype=np.int64)
        places[:1] = read_array(learned["goal_places"])
        new |= {"goal_places": places, "goal_widening": np.full(1, WIDENING)}
    if "goal_recent_scores" in learned:
        new["goal_score_grid"] = np.array(GRID)
    learned |= {name: packed_array(array) for name, array in new.items()}
    return msgspec.msgpack.encode(dict(sorted(learned.items())))
