"""Senders repeat everything, and nothing comes in order."""

from __future__ import annotations

from onward.faults.scenarios.kills import at_any_time, kill_some
from onward.faults.site import Site

_APART_SECONDS = (2.0, 5.0)


def repeated_and_shuffled_input(site: Site) -> None:
    """All inputs are out of time order within what is allowed, and all of them are sent again, in any order."""
    fleet = site.fleet(2, at_any_time)
    kill_some(site, fleet, 1)
    site.sender.finish()
    site.sender.again(site.order)
    site.say("everything is sent again")
    fleet.watch(site.random.uniform(*_APART_SECONDS))
    fleet.kill(site.random.choice(fleet.slots))
