"""Statistics of promises that survive a retrained model, from the events of the topics alone."""

from __future__ import annotations

from collections import Counter

from msgspec import UNSET, Struct

from ...schemas.events import PromiseChange, Recourse
from .round_stats import PromiseSummary


class ReturnsSummary(Struct, frozen=True):
    """Those who came back to a program after they had done what was asked, while one model decided.

    ``model`` is its number from 0, ``done`` counts them, and ``rejected`` those whom it rejected.
    """

    program: str
    model: int
    done: int
    rejected: int


class TurnedAway(Struct, frozen=True):
    """The share of those who did what was asked that is rejected; None while nobody has done it."""

    robust: float | None
    plain: float | None


class PromiseStats:
    """Counts the options that are promised, by what has become of them. Each event is added once, in any order.

    A revised recourse promises new options in place of broken ones.
    """

    def __init__(self) -> None:
        self._opened = 0
        self._ended: Counter[str] = Counter()

    def add(self, event: Struct) -> None:
        """Count an event, if it is about such options."""
        match event:
            case Recourse():
                self._opened += sum(option.status is not UNSET for option in event.options)
            case PromiseChange(options=tuple() as options):
                self._ended[event.status] += len(options)

    @property
    def summary(self) -> PromiseSummary:
        """What has become of the options."""
        ended = self._ended
        return PromiseSummary(
            open=self._opened - ended.total(),
            kept=ended["kept"],
            broken=ended["broken"],
            expired=ended["expired"],
            superseded=ended["superseded"],
        )
