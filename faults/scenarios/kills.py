"""Workers are killed with SIGKILL: at named points, and at any time."""

from __future__ import annotations

from onward.faults.fleet import SESSION_SECONDS, Fleet, Orders, Slot
from onward.faults.site import Site
from onward.faults.worker import POINTS
from onward.streams.worker.partition_processor import PORTION_ENTRIES

_CHUNKS = (1, 7, 40, 200, 1000)
_MOST_VISITS = 12
_MOST_DELAY_MS = 5.0
_APART_SECONDS = (0.0, 4.0)
_WORKING_SHARE = 0.75
"""Of the kills at any time: the others may hit workers that are still starting."""
_DEAD_SECONDS = SESSION_SECONDS + 3.0
_BACKLOG_RECORDS = 10_000
_BACKLOG_VISITS = 3
_BACKLOG_CHUNK_RECORDS = 1000


def at_points(slot: Slot) -> Orders:
    """Each life ends at another point, after another time, and reads in other chunks. No point is left out."""
    random, point = slot.random, POINTS[(slot.number - 1 + slot.lives) % len(POINTS)]
    delay_ms = random.choice([0.0, random.uniform(0.0, _MOST_DELAY_MS)])
    return Orders(point, random.randint(1, _MOST_VISITS), delay_ms, chunk_records=random.choice(_CHUNKS))


def at_any_time(slot: Slot) -> Orders:
    """Half of the lives begin at once, the others when the group has given their partitions away."""
    rest_seconds = slot.random.choice([0.0, _DEAD_SECONDS]) if slot.lives else 0.0
    return Orders(chunk_records=slot.random.choice(_CHUNKS), rest_seconds=rest_seconds)


def kill_some(site: Site, fleet: Fleet, least: int) -> None:
    """Kill workers of whatever they are at, at least so many of them at their work."""
    hits = 0
    while site.goes_on(enough=hits >= least):
        slot = site.random.choice(fleet.slots)
        if site.random.random() < _WORKING_SHARE:
            fleet.await_work(slot)
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        hits += slot.works()
        fleet.kill(slot)


def one_worker_at_named_points(site: Site) -> None:
    """One worker, killed again and again between the steps that delivery stands on."""
    _until_all_struck(site, site.fleet(1, at_points))


def one_worker_at_any_time(site: Site) -> None:
    """One worker, killed whatever it does."""
    kill_some(site, site.fleet(1, at_any_time), 2)


def three_workers_at_named_points(site: Site) -> None:
    """Three workers that share the partitions, each killed at points of its own."""

    def draw(slot: Slot) -> Orders:
        rest_seconds = slot.random.choice([0.0, 0.0, _DEAD_SECONDS]) if slot.lives else 0.0
        return at_points(slot)._replace(rest_seconds=rest_seconds)

    _until_all_struck(site, site.fleet(3, draw))


def three_workers_at_any_time(site: Site) -> None:
    """Three workers; who stays away for long loses its partitions to the others."""
    kill_some(site, site.fleet(3, at_any_time), 3)


def one_worker_in_a_backlog(site: Site) -> None:
    """One worker that finds thousands of records waiting, with portions and chunks as large as in production."""

    def draw(slot: Slot) -> Orders:
        nth = slot.random.randint(1, _BACKLOG_VISITS)
        return at_points(slot)._replace(nth=nth, chunk_records=_BACKLOG_CHUNK_RECORDS, portion_entries=PORTION_ENTRIES)

    with site.applying():
        site.wait(lambda: len(site.sender.sent) >= _BACKLOG_RECORDS, f"{_BACKLOG_RECORDS} records were sent")
    _until_all_struck(site, site.fleet(1, draw))


def _until_all_struck(site: Site, fleet: Fleet) -> None:
    while site.goes_on(enough=fleet.struck.keys() >= set(POINTS)):
        fleet.watch(0.5)
