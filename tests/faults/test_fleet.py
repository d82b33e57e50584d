"""The supervisor of the fault suite: what it orders happens, what nobody ordered is seen, at the end all is calm."""

from __future__ import annotations

import signal
from itertools import repeat

import pytest

from onward.faults.fleet import Fleet, Orders

OBEDIENT = ("sh", "-c", 'case "$*" in *--point*) kill -9 $$ ;; *) exec sleep 60 ;; esac', "sh")
"""Kills itself when that is ordered, else does nothing."""
DEAF = ("sh", "-c", "exec sleep 60", "sh")
DOOMED = ("sh", "-c", "kill -9 $$")


@pytest.fixture
def fleet(tmp_path):
    def make(draw, command=OBEDIENT):
        return Fleet(tmp_path, {}, 1, draw, "seed", command=command)

    return make


def drawing(*orders):
    """These one after the other, and the last again and again."""
    left = iter([*orders[:-1], *repeat(orders[-1], 1000)])
    return lambda _slot: next(left)


def test_a_kill_that_was_ordered_is_counted_at_its_point(fleet):
    with fleet(drawing(Orders("computed"), Orders("ledger committed"), Orders())) as fleet:
        fleet.until(lambda: len(fleet.struck) == 2, "both were hit")
        assert fleet.struck == {"computed": 1, "ledger committed": 1}
        assert fleet.surprises == []


def test_a_kill_that_nobody_ordered_is_a_surprise(fleet):
    with fleet(drawing(Orders()), DOOMED) as fleet:
        fleet.until(lambda: fleet.kills, "it was killed")
        assert "worker 1 ended with -9" in fleet.surprises[0]
        assert not fleet.struck


def test_a_kill_by_the_suite_is_neither(fleet):
    with fleet(drawing(Orders("computed"), Orders()), DEAF) as fleet:
        fleet.kill(fleet.slots[0])
        assert (fleet.ends, fleet.struck, fleet.surprises) == ({-signal.SIGKILL: 1}, {}, [])


def test_who_rests_when_all_is_to_be_calm_does_not_strike_afterwards(fleet):
    with fleet(drawing(Orders(), Orders("computed", rest_seconds=0.3))) as fleet:
        [slot] = fleet.slots
        fleet.kill(slot)
        assert slot.life is None
        fleet.calm()
        fleet.watch(0.6)
        assert slot.life is not None
        assert not slot.life.ended
        fleet.stop()
    assert (fleet.struck, fleet.surprises) == ({}, [])


def test_the_last_lives_have_the_clock_that_is_wanted(fleet):
    with fleet(drawing(Orders(clock_ms=60_000), Orders())) as fleet:
        [slot] = fleet.slots
        fleet.calm_clock_ms = 60_000
        fleet.calm()
        assert (slot.lives, slot.orders.clock_ms) == (1, 60_000)
        fleet.kill(slot)
        assert slot.orders.clock_ms == 60_000
        fleet.calm_clock_ms = 0
        fleet.calm()
        assert slot.orders == Orders()
        fleet.stop()


def test_a_worker_works_when_its_present_life_has_opened_a_ledger(fleet):
    with fleet(drawing(Orders())) as fleet:
        [slot] = fleet.slots
        opened = '{"message": "opened ledger"}\n'
        slot.log.write_text(opened)
        assert slot.works()
        slot.log.write_text(opened + '{"message": "cut')
        fleet.kill(slot)
        assert not slot.works()
        fleet.until(lambda: slot.life is not None, "it was started again")
        assert not slot.works()
        with slot.log.open("a") as log:
            log.write(opened)
        assert slot.works()


def test_who_was_started_is_ended_when_the_start_of_the_others_is_interrupted(tmp_path, monkeypatch):
    start = Fleet._start

    def interrupted(fleet, slot):
        if slot.number > 1:
            raise KeyboardInterrupt
        start(fleet, slot)

    monkeypatch.setattr(Fleet, "_start", interrupted)
    fleet = Fleet(tmp_path, {}, 2, drawing(Orders()), "seed", command=DEAF)
    with pytest.raises(KeyboardInterrupt), fleet:
        pass
    assert fleet.slots[0].life.ended
