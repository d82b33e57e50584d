"""How much of a long piece of work an entry of the journal carries on."""

from __future__ import annotations

from typing import NamedTuple

from ..journal.entries import Entry


class WorkBudget(NamedTuple):
    """Units of work for each program: what a tick may do, and any other entry, behind which others wait."""

    tick: int
    other: int

    def of(self, entry: Entry) -> int:
        """The units that an entry may do."""
        return self.tick if entry.kind.name == "tick" else self.other
