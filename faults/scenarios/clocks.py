"""The workers' clock jumps between lives: by minutes and by days, forward and back."""

from __future__ import annotations

from random import Random

from onward.faults.fleet import Orders
from onward.faults.site import Site

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_JUMPS_MS = (0, -_MINUTE_MS, _MINUTE_MS, -10 * _MINUTE_MS, 10 * _MINUTE_MS, -3 * _DAY_MS)
"""A clock that is days behind takes every record for one from the future and refuses it, which its letter tells."""
_APART_SECONDS = (2.0, 5.0)


def _orders(random: Random, lives: int) -> Orders:  # noqa: ARG001
    return Orders(clock_ms=random.choice(_JUMPS_MS), chunk_records=random.choice([20, 200]))


def clock_jumps(site: Site) -> None:
    """One worker is killed and goes on with another clock; what it reads again after that it sees with new eyes."""
    fleet = site.fleet(1, _orders)
    [slot] = fleet.slots
    while site.loading:
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        fleet.kill(slot)
        site.say(f"the clock is {slot.orders.clock_ms // 1000} s ahead")
