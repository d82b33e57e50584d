"""Kinds that ingest itself writes into the journal: ticks, dead letters, and returns to another partition."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import DeadLetter, RawReturn, Tick
from ...journal.dead_letters import without_first
from ...journal.entries import Entry
from ..contract import Handler
from ..fold import Fold
from ..portion import Footprint
from ..rewards.returns import note_return


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


class ReturnHandler(Handler):
    """Lets the case of an earlier application know that its person has come back, in another partition."""

    kind: ClassVar[str] = "return"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case of the earlier application."""
        footprint.may_touch_case(entry.key)

    def apply(self, entry: Entry, event: RawReturn, fold: Fold) -> None:
        """See what they have carried out."""
        program = fold.state.program(event.program)
        note_return(event.application, event.applicant, event.features, entry.time_ms, program, fold)
