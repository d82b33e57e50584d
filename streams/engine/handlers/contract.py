"""The contract of handlers, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ...journal.entries import Entry
from ..assessment import Person
from ..fold import Fold, Footprint
from ..selection import LookAhead
from ..state import PartitionState
from ..timers import Timer, by_program_and_key


class Handler(ABC):
    """Applies the events of one kind, and says beforehand what they touch.

    The ledger's view, the look ahead and the runs of steps are derived from what a handler declares: ``touch``,
    ``person``, ``surely_takes_step`` and ``ends_segment``.
    """

    kind: ClassVar[str]
    """The name of the kind in ``schemas/kinds.py``."""

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """Declare what the entry may touch: by default the case that it is about."""
        if entry.kind.about == "case":
            footprint.may_touch_case(entry.key)

    def person(self, entry: Entry, fold: Fold) -> Person | None:  # noqa: ARG002
        """The person to assess for this entry; None when there is none, or their features are not known yet."""
        return None

    def surely_takes_step(self, entry: Entry, fold: Fold) -> bool:  # noqa: ARG002
        """Whether the person of ``person``, if rejected, is certain to take the next step of their shard."""
        return False

    def ends_segment(self, entry: Entry, state: PartitionState) -> bool:  # noqa: ARG002
        """Whether later people must be assessed after this event is applied: it changes their model or their spec."""
        return False

    @abstractmethod
    def apply(self, entry: Entry, event: Any, fold: Fold, ahead: LookAhead) -> None:
        """Apply an event."""

    def give_up(self, entry: Entry, event: Any, fold: Fold) -> None:
        """Handle an event whose waiting time has expired. Kinds that wait must override this."""
        raise NotImplementedError(f"events of kind {self.kind} do not wait")


class TimerHandler(ABC):
    """Fires the timers of one kind."""

    kind: ClassVar[str]
    """The ``kind`` of its timers."""

    about_case: ClassVar[bool] = True
    """Whether the key of a timer is an application, whose case ``fire`` may read or change."""

    def order(self, timer: Timer) -> tuple[Any, ...]:
        """The order of timers that are due at the same time."""
        return by_program_and_key(timer)

    @abstractmethod
    def fire(self, timer: Timer, fold: Fold) -> None:
        """A timer is due."""


handlers: dict[str, Handler] = {}
"""The handler of each kind of event. The modules of this package fill it when they are imported."""

timer_handlers: dict[str, TimerHandler] = {}
"""The handler of each kind of timer. Timers of event time fire kind by kind, in this order."""


def add(*added: Handler | TimerHandler) -> None:
    """Put handlers to use."""
    for handler in added:
        if isinstance(handler, Handler):
            handlers[handler.kind] = handler
        else:
            timer_handlers[handler.kind] = handler


def discard(*discarded: Handler | TimerHandler) -> None:
    """Take handlers out of use again."""
    for handler in discarded:
        if isinstance(handler, Handler):
            del handlers[handler.kind]
        else:
            del timer_handlers[handler.kind]
