"""Statistics of rounds with limited places, from the events of the topics alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ...schemas.events import NoRecourse, PromiseChange, Recourse, Threshold

TOLERANCE = 1e-9
"""By how much a score may miss a promised one and still reaches it: rounding."""

SHOWN = 8
"""The rounds that a summary holds: the last ones."""


class CoverageSummary(Struct, frozen=True):
    """``achieved`` is the share of those who came back with their promised score that got a place; None without any.

    ``rounds`` is the number of closed rounds, of all programs.
    """

    nominal: float
    achieved: float | None
    rounds: int


class PromiseSummary(Struct, frozen=True):
    """Promises by what has become of them."""

    open: int
    kept: int
    broken: int
    expired: int
    superseded: int


class RoundStats:
    """Adds events up, in any order. Each event is added once."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[int, str], Threshold] = {}
        self._settled: Counter[str] = Counter()
        self._made = self._reached = self._kept = 0

    def add(self, event: Struct) -> None:
        """Count an event, if it is about rounds."""
        match event:
            case Threshold():
                self._rounds[event.round, event.program] = event
            case PromiseChange() if isinstance(event.target_score, float):
                self._settle(event)
            case Recourse() if isinstance(event.target_score, float):
                self._made += 1
            case NoRecourse(reason="apply_again"):
                self._made += 1

    @property
    def rounds(self) -> Sequence[Threshold]:
        """The closed rounds, by number."""
        return [self._rounds[key] for key in sorted(self._rounds)]

    @property
    def coverage(self) -> CoverageSummary | None:
        """How many of those who reached their promised score got a place; None before the first round is closed."""
        if not self._rounds:
            return None
        nominal = self.rounds[-1].coverage.nominal
        return CoverageSummary(nominal, self._kept / self._reached if self._reached else None, len(self._rounds))

    @property
    def promises(self) -> PromiseSummary:
        """What has become of the promises."""
        settled = self._settled
        return PromiseSummary(
            open=self._made - settled.total(),
            kept=settled["kept"],
            broken=settled["broken"],
            expired=settled["expired"],
            superseded=settled["superseded"],
        )

    def _settle(self, event: PromiseChange) -> None:
        self._settled[event.status] += 1
        # A promise may be kept without the promised score, where places are left.
        target_score = event.target_score
        if event.score is not None and isinstance(target_score, float) and event.score >= target_score - TOLERANCE:
            self._reached += 1
            self._kept += event.status == "kept"
