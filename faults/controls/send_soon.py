"""Outputs that are sent and forgotten."""

from __future__ import annotations

import sys

from onward.faults.checker import Findings
from onward.faults.fleet import Orders, Slot
from onward.faults.site import Site
from onward.streams.worker.partition_processor import Stage

_COMMAND = (sys.executable, "-P", "-m", "onward.faults.send_soon_worker")
_VISITS = (10, 30)
"""The first portions have few outputs, or none."""
_KILLS = 3


def send_soon_output(site: Site) -> Findings:
    """Onward's worker, but for this: it does not wait for its outputs' acknowledgements before it commits."""
    fleet = site.fleet(1, _orders, command=_COMMAND)
    while site.goes_on(enough=sum(fleet.struck.values()) >= _KILLS):
        fleet.watch(0.5)
    site.settle()
    return site.check()


def _orders(slot: Slot) -> Orders:
    return Orders(Stage.LEDGER_COMMITTED, slot.random.randint(*_VISITS))
