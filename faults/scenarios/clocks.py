"""The workers' clock jumps, between lives and under a running worker: by minutes and by days, forward and back.

What a clock that was ahead has told of idle inputs stays told: windows of event time that open afterwards close when
the clocks have got there. At the end they have, since nobody wants to wait for that.
"""

from __future__ import annotations

from onward.faults.fleet import Orders, Slot
from onward.faults.site import Site

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_DAYS_BEHIND_MS = -3 * _DAY_MS
"""Such a clock takes every record for one from the future and refuses it, which its letter tells."""
_JUMPS_MS = (-_MINUTE_MS, _MINUTE_MS, -10 * _MINUTE_MS, 10 * _MINUTE_MS)
_LEAST = 5
_APART_SECONDS = (1.0, 4.0)


def clock_jumps(site: Site) -> None:
    """One worker's clock jumps while it works, then the worker is killed and goes on with another one; what it reads
    again after that it sees with new eyes."""

    def draw(slot: Slot) -> Orders:
        random = slot.random
        clock_ms = random.choice([0, _DAYS_BEHIND_MS, *_JUMPS_MS])
        site.refuses |= clock_ms == _DAYS_BEHIND_MS
        return Orders(clock_ms=clock_ms, jump_ms=random.choice(_JUMPS_MS), chunk_records=random.choice([20, 200]))

    fleet = site.fleet(1, draw)
    [slot] = fleet.slots
    clocks: set[int] = set()
    while site.goes_on(enough=len(clocks) >= _LEAST):
        fleet.await_work(slot)
        life, (begun_ms, jump_ms) = slot.life, (slot.orders.clock_ms, slot.orders.jump_ms)
        clocks |= {begun_ms, begun_ms + jump_ms}
        fleet.calm_clock_ms = max(0, *clocks)
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        if life is not None:
            life.jump()
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        fleet.kill(slot)
        site.say(f"the clock was {begun_ms / 1000:+g} s ahead, and jumped by {jump_ms / 1000:+g} s")
