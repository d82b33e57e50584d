"""Brokers are killed, stopped and restarted; workers and senders are not told."""

from __future__ import annotations

from onward.faults.fleet import Fleet, Orders, Slot
from onward.faults.site import Site

KAFKA_AWAY = 3
"""What a worker ends with when nothing is acknowledged for too long."""
_APART_SECONDS = (1.0, 4.0)
_DOWN_SECONDS = (0.0, 6.0)
_LOST_SHARE, _MOST_LOST_SECONDS = 0.92, 75.0
_UNREACHABLE_SHARE, _MOST_UNREACHABLE_SECONDS = 3.0, 150.0
"""Of the time in which people apply at their usual rate; until the brokers are back they go on at a lower one."""


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
    """All brokers stand still with their connections open, for two minutes and a half where there is time for that."""
    fleet, brokers = _fleet(site), site.ground.brokers
    seconds = min(_MOST_UNREACHABLE_SECONDS, site.seconds * _UNREACHABLE_SHARE)
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


def brokers_lost_together(site: Site) -> None:
    """All brokers are killed at once and come back after a while."""
    fleet, brokers = _fleet(site), site.ground.brokers
    seconds = min(_MOST_LOST_SECONDS, site.seconds * _LOST_SHARE)
    with site.applying():
        _run_well(site, fleet)
        for number in brokers.numbers:
            brokers.kill(number)
        site.say("all brokers are killed")
        try:
            fleet.watch(seconds)
        finally:
            brokers.start()
