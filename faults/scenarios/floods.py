"""Bad records come in floods between the good ones."""

from __future__ import annotations

from onward.faults.poison import poison
from onward.faults.scenarios.kills import at_points
from onward.faults.site import Site

_FLOOD = 60
_APART_SECONDS = (0.5, 2.0)


def poison_records(site: Site) -> None:
    """Every one of them has exactly one dead letter, and everybody around it is served, though the worker is killed."""
    fleet = site.fleet(1, at_points)
    while site.goes_on(enough=bool(fleet.struck)):
        site.sender.send(list(poison(site.topics, site.random, _FLOOD)))
        fleet.watch(site.random.uniform(*_APART_SECONDS))
