"""The handlers in use, by kind of event and by kind of timer."""

from __future__ import annotations

from .contract import Handler, TimerHandler

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
