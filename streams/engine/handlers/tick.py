"""Ticks: time passes in inputs that have nothing to read. The clocks have moved already when a tick is applied."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import Tick
from ...journal.entries import Entry
from ..contract import Handler
from ..fold import Fold


class TickHandler(Handler):
    """Does nothing more."""

    kind: ClassVar[str] = "tick"

    def apply(self, entry: Entry, event: Tick, fold: Fold) -> None:
        """Time has passed."""
