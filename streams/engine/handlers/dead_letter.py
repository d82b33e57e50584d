"""Dead letters: input records that ingest could not use, published from the journal."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import DeadLetter
from ...journal.entries import Entry
from ..contract import Handler
from ..fold import Fold


class DeadLetterHandler(Handler):
    """Publishes the dead letters that stand in the journal."""

    kind: ClassVar[str] = "dead-letter"

    def apply(self, entry: Entry, event: DeadLetter, fold: Fold) -> None:
        """Publish it."""
        fold.publish_dead_letter(event, entry.time_ms)
