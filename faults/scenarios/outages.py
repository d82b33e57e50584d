"""Brokers are killed, stopped and restarted; workers and senders are not told."""

from __future__ import annotations

from onward.faults.fleet import Fleet, Orders, Slot
from onward.faults.site import Site

KAFKA_AWAY = 3
"""What a worker ends with when nothing is acknowledged for too long."""
_APART_SECONDS = (1.0, 4.0)
_DOWN_SECONDS = (0.0, 6.0)
_LOST_SHARE, _LOST_SECONDS = 0.92, (35.0, 75.0)
_UNREACHABLE_SHARE, _UNREACHABLE_SECONDS = 3.0, (120.0, 150.0)
"""Of the time in which people apply at their usual rate, but longer than any worker waits to be acknowledged; until the
brokers are back people go on at a lower rate."""


def _orders(slot: Slot) -> Orders:
    return Orders(chunk_records=slot.random.choice([20, 200]))


def _fleet(site: Site) -> Fleet:
    fleet = site.fleet(2, _orders)
    fleet.expected.add(KAFKA_AWAY)
    return fleet


def _run_well(site: Site, fleet: Fleet) -> None:
    fleet.await_work()
    fleet.watch(site.random.uniform(*_APART_SECONDS))


def brokers_killed_in_turn(site: Site) -> None:
    """One broker after the other is killed with SIGKILL and restarted on its data."""
    fleet, brokers, rounds = _fleet(site), site.ground.brokers, 0
    order = site.random.sample(brokers.numbers, len(brokers.numbers))
    while site.goes_on(enough=rounds > 0):
        for number in order:
            _run_well(site, fleet)
            brokers.kill(number)
            site.say(f"broker {number} is killed")
            fleet.watch(site.random.uniform(*_DOWN_SECONDS))
            brokers.restart(number)
        rounds += 1


def brokers_unreachable(site: Site) -> None:
    """All brokers stand still with their connections open, for two minutes at least."""
    fleet, brokers = _fleet(site), site.ground.brokers
    seconds = _within(_UNREACHABLE_SECONDS, site.seconds * _UNREACHABLE_SHARE)
    with site.applying():
        _run_well(site, fleet)
        site.say(f"all brokers are stopped for {seconds:.0f} s")
        for number in brokers.numbers:
            brokers.pause(number)
        try:
            fleet.watch(seconds)
        finally:
            for number in brokers.numbers:
                brokers.resume(number)
    if not fleet.ends[KAFKA_AWAY]:
        site.surprises.append("no worker ended for want of brokers")


def brokers_lost_together(site: Site) -> None:
    """All brokers are killed at once and come back after a while."""
    fleet, brokers = _fleet(site), site.ground.brokers
    seconds = _within(_LOST_SECONDS, site.seconds * _LOST_SHARE)
    with site.applying():
        _run_well(site, fleet)
        for number in brokers.numbers:
            brokers.kill(number)
        site.say(f"all brokers are killed for {seconds:.0f} s")
        try:
            fleet.watch(seconds)
        finally:
            brokers.start()


def _within(bounds: tuple[float, float], seconds: float) -> float:
    least, most = bounds
    return min(most, max(least, seconds))
