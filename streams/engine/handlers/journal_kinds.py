"""Kinds that ingest itself writes into the journal: ticks, and dead letters."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import DeadLetter, Tick
from ...journal.dead_letters import without_first
from ...journal.entries import Entry
from ..contract import Handler
from ..fold import Fold


class TickHandler(Handler):
    """Does nothing more: the clocks have moved already when a tick is applied."""

    kind: ClassVar[str] = "tick"

    def apply(self, entry: Entry, event: Tick, fold: Fold) -> None:
        """Time has passed."""


class DeadLetterHandler(Handler):
    """Publishes the dead letters of records that ingest could not use."""

    kind: ClassVar[str] = "dead-letter"

    def apply(self, entry: Entry, event: DeadLetter, fold: Fold) -> None:
        """Publish it, without the records that were refused before."""
        fold.publish_dead_letter(without_first(event, fold.last_known), entry.time_ms)
