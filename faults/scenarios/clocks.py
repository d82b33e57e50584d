"""The workers' clock jumps between lives: by minutes and by days, forward and back.

What a clock that was ahead has told of idle inputs stays told: windows of event time that open afterwards close when
the clocks have got there. At the end they have, since nobody wants to wait for that.
"""

from __future__ import annotations

from onward.faults.fleet import Orders, Slot
from onward.faults.site import Site

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_JUMPS_MS = (0, -_MINUTE_MS, _MINUTE_MS, -10 * _MINUTE_MS, 10 * _MINUTE_MS, -3 * _DAY_MS)
"""A clock that is days behind takes every record for one from the future and refuses it, which its letter tells."""
_LEAST = 3
_APART_SECONDS = (1.0, 4.0)


def _orders(slot: Slot) -> Orders:
    return Orders(clock_ms=slot.random.choice(_JUMPS_MS), chunk_records=slot.random.choice([20, 200]))


def clock_jumps(site: Site) -> None:
    """One worker is killed and goes on with another clock; what it reads again after that it sees with new eyes."""
    fleet = site.fleet(1, _orders)
    [slot] = fleet.slots
    clocks: set[int] = set()
    while site.goes_on(enough=len(clocks) >= _LEAST):
        fleet.await_work(slot)
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        clocks.add(slot.orders.clock_ms)
        fleet.calm_clock_ms = max(0, *clocks)
        fleet.kill(slot)
        site.say(f"the clock is {slot.orders.clock_ms // 1000} s ahead")
