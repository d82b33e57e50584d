"""Promises expire: the watermark has passed the time until which an option was open."""

from __future__ import annotations

from typing import ClassVar

from ...journal.entries import CaseKey
from ..contract import TimerHandler
from ..fold import Fold
from ..timing.timers import Timer
from .opening import end_options
from .promised_options import PromisedOptions
from .state import PROMISE_END, close_promise, promise_of


class PromiseEndTimerHandler(TimerHandler):
    """Ends the promises that nobody came back with in time."""

    kind: ClassVar[str] = PROMISE_END
    about_case: ClassVar[bool] = False

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Expire the options of a person."""
        promise = promise_of(CaseKey(timer.program, timer.key), fold)
        if promise is not None:
            expire(promise, fold)


def expire(promise: PromisedOptions, fold: Fold) -> None:
    """End the promise to a person, whose time is over."""
    program = fold.state.program(promise.key.program)
    bundle = fold.state.model(program).bundle
    close_promise(program, promise, fold)
    end_options(promise, promise.options, "expired", bundle, promise.until_ms, fold)
