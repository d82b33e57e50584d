"""A peer for tests: the known rows that are nearest and scored high enough; a person who makes it fail, or wait."""

from __future__ import annotations

import time

import numpy as np

from onward.benchmarks.peers.contract import Floats, Setting
from onward.benchmarks.peers.serving import serve

FAILS, WAITS = 0.0, 1.0
"""What the first column of such a person is."""


class Nearest:
    """The ``count`` nearest of the known rows."""

    def __init__(self, setting: Setting, count: int) -> None:
        self._rows, self._scores, self._count = setting.rows, setting.score(setting.rows), count

    def counterfactuals(self, person: Floats, required: float, seed: int) -> Floats:
        """Rows (k, D) for a person (D,)."""
        if person[0] == FAILS:
            raise ValueError(f"nobody is like person {seed}")
        if person[0] == WAITS:
            time.sleep(60.0)
        good = self._rows[self._scores > required]
        nearest: Floats = good[np.abs(good - person).sum(axis=1).argsort(kind="stable")[: self._count]]
        return nearest


if __name__ == "__main__":
    serve(Nearest)
