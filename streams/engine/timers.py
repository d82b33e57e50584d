"""Timers: one durable queue of what is due at an event time, or at a step of a shard.

Windows, retention and waiting are timers, and so is everything that a handler sets. A timer of event time fires when
the watermark of its program passes ``due``. A timer of steps fires when its shard is about to take step ``due``.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from ...schemas.kinds import WatermarkName
from .cases import Case, ProcessedEvent

EVENT_TIME: Final = -1
"""The ``shard`` of a timer of event time."""

WINDOW: Final = "window"
"""An open case closes. The key is its application."""
WAIT: Final = "wait"
"""A waiting event is given up. The key is its position in the journal."""
ROUND_END: Final = "round-end"
"""A round with limited places is closed. The key is its end, in milliseconds since the epoch."""
PROMISE_END: Final = "promise-end"
"""The options of a person are not open any more. The key is their application."""
FORGET_CASE: Final = "forget-case"
FORGET_EVENT: Final = "forget-event"
"""Retention: the ledger deletes the case, or the processed event, that the key names."""

RETENTION: Final = frozenset({FORGET_CASE, FORGET_EVENT})
ABOUT_A_CASE: Final = frozenset({WINDOW, FORGET_CASE})
"""Every case has exactly one timer of these kinds, ``timer_of(case)``. It is written when a portion ends.

It is never cancelled: its handler sees by the case whether it still stands.
"""


class Timer(NamedTuple):
    """``due`` is in milliseconds since the epoch where ``shard`` is ``EVENT_TIME``, else a step of that shard."""

    program: str
    kind: str
    shard: int
    due: int
    key: str


# Several are made for every application. This is several times as fast as a call of the class.
_timer = partial(tuple.__new__, Timer)


def timer_of(case: Case) -> Timer:
    """The timer of a case: its retention, or the end of its window while it is open."""
    program, application = case.key
    if case.forget_ms is not None:
        return _timer((program, FORGET_CASE, EVENT_TIME, case.forget_ms, application))
    if case.closes_ms is not None:
        return _timer((program, WINDOW, EVENT_TIME, case.closes_ms, application))
    assert case.closes_step is not None, f"{case.key} is open without a window"
    return _timer((program, WINDOW, case.shard, case.closes_step, application))


def forget_event(event: ProcessedEvent, forget_ms: int) -> Timer:
    """The timer that forgets a processed event."""
    return Timer(event.program, FORGET_EVENT, EVENT_TIME, forget_ms, event.name)


def promise_end(program: str, application: str, until_ms: int) -> Timer:
    """The timer that ends the promises of an application."""
    return Timer(program, PROMISE_END, EVENT_TIME, until_ms, application)


Order = Callable[[Timer], tuple[Any, ...]]
"""The order of timers of one kind that are due at the same time."""


def by_program_and_key(timer: Timer) -> tuple[Any, ...]:
    """The default order."""
    return timer.program, timer.key


class TimerQueue:
    """The timers that may fire in a portion: those loaded from the ledger and those that the portion sets.

    Timers of event time fire kind by kind, in the order of ``orders``, each kind by due time.

    Parameters
    ----------
    orders
        The order of equally due timers of each kind.
    watermark_of
        Who decides each program, which says whose watermark its timers follow.
    """

    def __init__(self, orders: Mapping[str, Order], watermark_of: Callable[[str], WatermarkName]) -> None:
        self._orders = orders
        self._watermark_of = watermark_of
        self._by_time: defaultdict[tuple[WatermarkName, str], list[tuple[int, tuple[Any, ...], Timer]]] = defaultdict(
            list
        )
        self._by_step: defaultdict[tuple[str, int], list[tuple[int, Timer]]] = defaultdict(list)
        self._cancelled: set[Timer] = set()
        self.changed: dict[Timer, bool] = {}
        """The timers that this portion has set (True) or cancelled (False), for the ledger; not those of cases."""

    def load(self, timer: Timer) -> None:
        """Add a timer that the ledger holds, or that follows from a case."""
        if timer.kind in RETENTION:
            return
        if timer.shard == EVENT_TIME:
            queue = self._by_time[self._watermark_of(timer.program), timer.kind]
            heapq.heappush(queue, (timer.due, self._orders[timer.kind](timer), timer))
        else:
            heapq.heappush(self._by_step[timer.program, timer.shard], (timer.due, timer))

    def set(self, timer: Timer) -> None:
        """Set a timer. Setting the same one twice is setting it once."""
        self.changed[timer] = True
        self._cancelled.discard(timer)
        self.load(timer)

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer that is set; cancelling one that has fired does nothing more."""
        self.changed[timer] = False
        self._cancelled.add(timer)

    def due_by_time(self, watermark: WatermarkName, watermark_ms: int) -> Iterator[Timer]:
        """Take the timers of event time that this watermark has passed."""
        for kind in self._orders:
            queue = self._by_time.get((watermark, kind), ())
            while queue and queue[0][0] < watermark_ms:
                timer = heapq.heappop(queue)[2]
                if timer.kind in ABOUT_A_CASE or self._take(timer):
                    yield timer

    def due_by_step(self, shard: tuple[str, int], step: int) -> Iterator[Timer]:
        """Take the timers of a shard, named by program and number, that is about to take this step."""
        queue = self._by_step.get(shard, ())
        while queue and queue[0][0] <= step:
            timer = heapq.heappop(queue)[1]
            if timer.kind in ABOUT_A_CASE or self._take(timer):
                yield timer

    def _take(self, timer: Timer) -> bool:
        if timer in self._cancelled:
            return False
        self.cancel(timer)
        return True
