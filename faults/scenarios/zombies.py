"""Workers are stopped (SIGSTOP) until others have their partitions, and then go on as if nothing had happened."""

from __future__ import annotations

import time

from onward.faults.fleet import SESSION_SECONDS, Fleet, Orders, Slot, told
from onward.faults.site import Site
from onward.streams.worker.partition_processor import Stage

KAFKA_AWAY = 3
"""What a worker ends with that had something to publish while it stood still: it takes it for not acknowledged."""
_STOPPED_SECONDS = (SESSION_SECONDS + 1.0, SESSION_SECONDS + 6.0)
_APART_SECONDS = (1.0, 3.0)
_TAKEOVER_SECONDS = 120.0
_MOST_VISITS = 12


def _at_ease(slot: Slot) -> Orders:
    return Orders(chunk_records=slot.random.choice([5, 50, 500]))


def _in_mid_step(slot: Slot) -> Orders:
    random = slot.random
    point = random.choice([Stage.COMPUTED, Stage.OUTPUTS_IN_FLIGHT, Stage.OUTPUTS_ACKNOWLEDGED])
    return Orders(point, random.randint(3, _MOST_VISITS), signal="SIGSTOP", chunk_records=random.choice([5, 50, 500]))


def zombies_at_any_time(site: Site) -> None:
    """One worker of two is stopped whatever it does."""
    fleet = site.fleet(2, _at_ease, static=False)
    fleet.expected.add(KAFKA_AWAY)
    while site.goes_on(enough=site.zombies > 0):
        # Who has nothing yet leaves nothing to take over.
        fleet.await_work()
        fleet.watch(site.random.uniform(*_APART_SECONDS))
        slot = site.random.choice(fleet.slots)
        if slot.life is not None and not slot.life.ended:
            slot.life.hold()
            _wake_when_replaced(site, fleet, slot)


def zombies_in_mid_step(site: Site) -> None:
    """Workers stop themselves between the steps that delivery stands on."""
    fleet = site.fleet(2, _in_mid_step, static=False)
    fleet.expected.add(KAFKA_AWAY)
    while site.goes_on(enough=site.zombies > 0):
        fleet.watch(0.2)
        for slot in fleet.slots:
            if _stands(slot):
                _wake_when_replaced(site, fleet, slot)


def _stands(slot: Slot) -> bool:
    return slot.life is not None and not slot.life.ended and slot.life.stands


def _wake_when_replaced(site: Site, fleet: Fleet, slot: Slot) -> None:
    """Let a stopped worker go on when the other has its partitions; return when it has ended or joined again."""
    life, own = slot.life, _opened(slot)
    taken_over = _taken_over(site, fleet, slot)
    if life is not None:
        life.let_go()
    if taken_over:
        site.zombies += 1
        fleet.until(lambda: slot.life is not life or _opened(slot) > own, f"zombie {slot.number} ended or joined again")


def _taken_over(site: Site, fleet: Fleet, slot: Slot) -> bool:
    """Wait, and a little longer, until the other has opened what a stopped worker had. Return whether it has."""
    others = [other for other in fleet.slots if other is not slot]
    before = sum(_opened(other) for other in others)
    fleet.watch(site.random.uniform(*_STOPPED_SECONDS))
    deadline = time.monotonic() + _TAKEOVER_SECONDS
    while sum(_opened(other) for other in others) == before and time.monotonic() < deadline:
        if all(_stands(other) for other in others):
            # Nobody is left to take over.
            return False
        fleet.watch(0.2)
    return sum(_opened(other) for other in others) > before


def _opened(slot: Slot) -> int:
    return sum(line["message"] == "opened ledger" for line in told(slot.log))
