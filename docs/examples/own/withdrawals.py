"""An input: people withdraw, and ten minutes later that is confirmed."""

from typing import ClassVar

import msgspec

from onward.schemas.kinds import Kind, kinds
from onward.streams.engine.fold import Fold
from onward.streams.engine.handlers import Handler, TimerHandler, add
from onward.streams.engine.metrics import OBSERVATIONS, Observation
from onward.streams.engine.portion import Footprint
from onward.streams.engine.timing.timers import EVENT_TIME, Timer
from onward.streams.journal.entries import Entry


class Withdrawal(msgspec.Struct, frozen=True):
    """A person withdraws."""

    program: str
    application: str


class Confirmation(msgspec.Struct, frozen=True):
    """A withdrawal is final."""

    program: str
    application: str


WITHDRAWAL = Kind(
    "withdrawal", (Withdrawal,), "A person withdraws", "input", "withdrawals", about="case", waits_for="application"
)
CONFIRMATION = Kind("confirmation", (Confirmation,), "A withdrawal is final", "output", "confirmations")
kinds.add(WITHDRAWAL, CONFIRMATION)


class WithdrawalHandler(Handler):
    """Confirms a withdrawal after ten minutes."""

    kind: ClassVar[str] = "withdrawal"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """Its case, and a repeat of the event."""
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)

    def apply(self, entry: Entry, event: Withdrawal, fold: Fold) -> None:
        """Set the timer, once, as soon as the application has come."""
        if fold.was_processed(entry):
            fold.count("duplicates", "withdrawal")
        elif fold.ready_case(entry) is None:
            fold.wait(entry)
        else:
            fold.remember(entry)
            fold.count("withdrawals", event.program)
            due_ms = entry.time_ms + 10 * 60 * 1000
            fold.timers.set(Timer(event.program, "confirm", EVENT_TIME, due_ms, event.application))

    def give_up(self, entry: Entry, event: Withdrawal, fold: Fold) -> None:
        """No application came."""
        fold.dead_letter(entry, "withdrawal_without_application", "no such application came before it")


OBSERVATIONS["withdrawals"] = Observation("Withdrawals accepted.", ("program",))


class ConfirmTimerHandler(TimerHandler):
    """Publishes the confirmation."""

    kind: ClassVar[str] = "confirm"

    def fire(self, timer: Timer, fold: Fold) -> None:
        """The withdrawal is final."""
        event = Confirmation(timer.program, timer.key)
        fold.emit(event, f"confirmation/{timer.program}/{timer.key}", timer.due, timer.program)


add(WithdrawalHandler(), ConfirmTimerHandler())
