from __future__ import annotations

import asyncio
import time

import pytest

from onward.streams.errors import FencedError
from onward.streams.worker import lease as leases
from onward.streams.worker.lease import Lease

SESSION, REBALANCE = 10.0, 60.0


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lease(clock):
    return Lease(SESSION, REBALANCE, clock)


def ends(lease, clock):
    """The first tenth of a second at which the lease no longer runs."""
    while lease.is_valid:
        clock.now += 0.1
    return clock.now


def test_there_is_none_before_the_group_has_given_one(lease):
    assert not lease.is_valid


def test_it_ends_a_tenth_before_the_session_counted_from_when_the_heartbeat_was_sent(lease, clock):
    lease.grant(100.0)
    clock.now = 107.0
    lease.renew(103.0)
    assert ends(lease, clock) == pytest.approx(112.0, abs=0.15)


def test_an_answer_from_before_a_stop_renews_nothing(lease, clock):
    lease.grant(100.0)
    clock.now = 130.0
    lease.renew(103.0)
    assert not lease.is_valid


def test_while_the_group_rebalances_heartbeats_do_not_carry_it_past_the_time_to_join(lease, clock):
    lease.grant(100.0)
    for sent in range(101, 200):
        clock.now = sent
        lease.renew_during_rebalance(sent)
    clock.now = 151.0
    assert ends(lease, clock) == pytest.approx(159.0, abs=0.15)


async def test_what_waits_goes_on_when_the_group_answers_and_is_fenced_when_it_has_given_the_partitions_away(
    lease, clock, caplog
):
    lease.grant(100.0)
    clock.now = 130.0
    waits = asyncio.ensure_future(lease.wait_until_valid())
    await asyncio.sleep(0.05)
    assert not waits.done()
    assert "until the group answers" in caplog.text
    lease.renew(129.0)
    await asyncio.wait_for(waits, 1)
    clock.now = 160.0
    waits = asyncio.ensure_future(lease.wait_until_valid())
    lease.lose()
    with pytest.raises(FencedError, match=r"may have another owner by now.*; start it again"):
        await asyncio.wait_for(waits, 1)


async def test_once_lost_only_new_partitions_bring_a_lease(lease, clock):
    lease.grant(100.0)
    lease.lose()
    lease.renew(100.0)
    assert not lease.is_valid
    with pytest.raises(FencedError):
        await lease.wait_until_valid()
    lease.grant(100.0)
    await asyncio.wait_for(lease.wait_until_valid(), 1)


def test_its_clock_goes_on_and_is_not_the_one_that_people_set():
    before, wall = leases.clock(), time.monotonic()
    time.sleep(0.02)
    assert leases.clock() - before >= 0.02
    assert leases.clock() - before == pytest.approx(time.monotonic() - wall, abs=0.01)


async def test_that_nobody_answers_is_told_once_however_many_wait_and_again_the_next_time(lease, clock, caplog):
    lease.grant(100.0)
    for now in (120.0, 140.0):
        clock.now = now
        waiting = [asyncio.create_task(lease.wait_until_valid()) for _ in range(3)]
        await asyncio.sleep(0.01)
        lease.renew(now)
        await asyncio.gather(*waiting)
    assert [line.getMessage()[:27] for line in caplog.records] == ["no heartbeat was answered f"] * 2
