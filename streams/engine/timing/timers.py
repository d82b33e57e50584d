"""Timers: one durable queue of what is due at an event time, or at a step of a shard.

The waits of cases, retention and waiting events are timers, and so is everything that a handler sets. A timer of event
time fires when the watermark of its program passes ``due``. A timer of steps fires when its shard is about to take
step ``due``.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from ....schemas.kinds import WatermarkName

EVENT_TIME: Final = -1
"""The ``shard`` of a timer of event time."""

WINDOW: Final = "window"
"""The window of an open case ends. The key is its application."""
WAIT: Final = "wait"
"""A waiting event is given up. The key is its position in the journal."""
ANSWER_DEADLINE: Final = "answer-deadline"
"""People who were asked may not answer any more. The key is their application."""
FORGET_CASE: Final = "forget-case"
FORGET_EVENT: Final = "forget-event"
"""Retention: the ledger deletes the case, or the processed event, that the key names."""

RETENTION: Final = frozenset({FORGET_CASE, FORGET_EVENT})
STEPS_READ_TOGETHER = 100
"""Steps of a shard whose timers are read at once, where more are taken than the portion's entries let expect."""


class Timer(NamedTuple):
    """``due`` is in milliseconds since the epoch where ``shard`` is ``EVENT_TIME``, else a step of that shard."""

    program: str
    kind: str
    shard: int
    due: int
    key: str


# Several are made for every application. This is several times as fast as a call of the class.
new_timer = partial(tuple.__new__, Timer)

Order = Callable[[Timer], tuple[Any, ...]]
"""The order of timers of one kind that are due at the same time."""
StepTimers = Callable[[tuple[str, int], int, int], Iterable[Timer]]
"""Reads a shard's timers that are due from one step to another, which is left out."""


class TimerQueue:
    """The timers that may fire in a portion: those that the ledger holds and those that the portion sets.

    Timers of event time fire kind by kind, each kind by due time; ``orders`` has the kinds in their order, each with
    that of its equally due timers. Those of the kinds ``of_cases`` follow from cases, by which the ledger writes them;
    the others are set and cancelled. Those of the kinds ``answering`` answer people. ``steps_read`` is the step of a
    shard up to which its timers are loaded.
    """

    def __init__(
        self,
        orders: Mapping[str, Order],
        of_cases: Collection[str],
        answering: Collection[str],
        watermark_of: Callable[[str], WatermarkName],
        steps_read: Mapping[tuple[str, int], int],
    ) -> None:
        self._orders = orders
        self._of_cases = of_cases
        self._answering = answering
        self._watermark_of = watermark_of
        self._steps_read = dict(steps_read)
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

    def may_answer(self, watermark: WatermarkName) -> bool:
        """Whether a timer may still answer somebody in this portion, in a program with this watermark."""
        return any(self._by_time.get((watermark, kind)) for kind in self._answering)

    def due_by_time(self, watermark: WatermarkName, watermark_ms: int) -> Iterator[Timer]:
        """Take the timers of event time that this watermark has passed."""
        for kind in self._orders:
            queue = self._by_time.get((watermark, kind), ())
            while queue and queue[0][0] < watermark_ms:
                timer = heapq.heappop(queue)[2]
                if timer.kind in self._of_cases or self._take(timer):
                    yield timer

    def due_by_step(self, shard: tuple[str, int], step: int, read_steps: StepTimers) -> Iterator[Timer]:
        """Take the timers of a shard, named by program and number, that is about to take this step.

        ``read_steps`` reads those of steps that are not loaded.
        """
        if step >= self._steps_read.get(shard, 0):
            self._read_on(shard, step + STEPS_READ_TOGETHER, read_steps)
        queue = self._by_step.get(shard, ())
        while queue and queue[0][0] <= step:
            timer = heapq.heappop(queue)[1]
            if timer.kind in self._of_cases or self._take(timer):
                yield timer

    def _read_on(self, shard: tuple[str, int], until: int, read_steps: StepTimers) -> None:
        for timer in read_steps(shard, self._steps_read.get(shard, 0), until):
            if timer not in self.changed:
                self.load(timer)
        self._steps_read[shard] = until

    def _take(self, timer: Timer) -> bool:
        if timer in self._cancelled:
            return False
        self.cancel(timer)
        return True
