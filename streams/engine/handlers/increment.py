"""Increments: what a shard has told reaches the other shards of its program."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import Increment
from ...journal.entries import Entry
from ..fold import Fold
from ..selection import LookAhead
from ..sharing import hear
from .contract import Handler


class IncrementHandler(Handler):
    """Lets the shards of this partition learn it; one that its program cannot use is a dead letter."""

    kind: ClassVar[str] = "increment"

    def apply(self, entry: Entry, event: Increment, fold: Fold, ahead: LookAhead) -> None:  # noqa: ARG002
        """Learn it, unless it is a copy."""
        try:
            hear(event, fold.state.program(event.program), fold)
        except ValueError as error:
            fold.dead_letter(entry, "increment_does_not_fit", str(error))
