"""Outputs that are sent and forgotten."""

from __future__ import annotations

import sys
from random import Random

from onward.faults.checker import Findings
from onward.faults.fleet import Orders
from onward.faults.site import Site
from onward.streams.keeper import Stage

_COMMAND = (sys.executable, "-P", "-m", "onward.faults.send_soon_worker")
_MOST_VISITS = 8


def send_soon_output(site: Site) -> Findings:
    """Onward's worker, but for this: it does not wait for its outputs' acknowledgements before it commits."""
    fleet = site.fleet(1, _orders, command=_COMMAND)
    while site.loading:
        fleet.watch(1.0)
    site.settle()
    return site.check()


def _orders(random: Random, lives: int) -> Orders:  # noqa: ARG001
    return Orders(Stage.LEDGER_COMMITTED, random.randint(2, _MOST_VISITS))
