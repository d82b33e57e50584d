"""Workers are killed with SIGKILL: at named points, and at any time."""

from __future__ import annotations

from random import Random

from onward.faults.fleet import SESSION_SECONDS, Orders
from onward.faults.site import Site
from onward.faults.worker import POINTS

_CHUNKS = (1, 7, 40, 200, 1000)
_MOST_VISITS = 12
_MOST_DELAY_MS = 5.0
_APART_SECONDS = (1.0, 4.0)
_DEAD_SECONDS = SESSION_SECONDS + 3.0


def at_points(random: Random, lives: int) -> Orders:
    """Each life ends at another point, after another time, and reads in other chunks. None of them is left out."""
    point = POINTS[lives % len(POINTS)] if lives < len(POINTS) else random.choice(POINTS)
    delay_ms = random.choice([0.0, random.uniform(0.0, _MOST_DELAY_MS)])
    return Orders(point, random.randint(1, _MOST_VISITS), delay_ms, chunk_records=random.choice(_CHUNKS))


def at_any_time(random: Random, lives: int) -> Orders:
    """Half of the lives begin at once, the others when the group has given their partitions away."""
    rest_seconds = random.choice([0.0, _DEAD_SECONDS]) if lives else 0.0
    return Orders(chunk_records=random.choice(_CHUNKS), rest_seconds=rest_seconds)


def one_worker_at_named_points(site: Site) -> None:
    """One worker, killed again and again between the steps that delivery stands on."""
    fleet = site.fleet(1, at_points)
    while site.goes_on(enough=fleet.kills >= len(POINTS)):
        fleet.watch(1.0)


def one_worker_at_any_time(site: Site) -> None:
    """One worker, killed whatever it does."""
    _kill_some(site, 1)


def three_workers_at_named_points(site: Site) -> None:
    """Three workers that share the partitions, each killed at points of its own."""
    fleet = site.fleet(3, lambda random, lives: at_points(random, lives)._replace(
        rest_seconds=random.choice([0.0, 0.0, _DEAD_SECONDS]) if lives else 0.0
    ))  # fmt: skip
    while site.goes_on(enough=fleet.kills >= len(POINTS)):
        fleet.watch(1.0)


def three_workers_at_any_time(site: Site) -> None:
    """Three workers; who stays away for long loses its partitions to the others."""
    _kill_some(site, 3)


def _kill_some(site: Site, size: int) -> None:
    fleet = site.fleet(size, at_any_time)
    while site.loading:
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        fleet.kill(site.random.choice(fleet.slots))
