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
    """The first tenth of a second at which the lease is over."""
    while lease.is_valid:
        clock.now += 0.1
    return clock.now


def test_a_new_lease_is_not_valid(lease):
    assert not lease.is_valid


def test_it_ends_a_tenth_before_the_session_of_the_last_heartbeat_sent(lease, clock):
    lease.grant(100.0)
    clock.now = 107.0
    lease.renew(103.0)
    assert ends(lease, clock) == pytest.approx(112.0, abs=0.15)


def test_an_answer_from_before_a_stop_renews_nothing(lease, clock):
    lease.grant(100.0)
    clock.now = 130.0
    lease.renew(103.0)
    assert not lease.is_valid


def test_heartbeats_in_a_rebalance_extend_it_up_to_the_rebalance_timeout(lease, clock):
    lease.grant(100.0)
    for sent in range(101, 200):
        clock.now = sent
        lease.renew_during_rebalance(sent)
    clock.now = 151.0
    assert ends(lease, clock) == pytest.approx(159.0, abs=0.15)


@pytest.fixture
async def waiting(lease, clock):
    """A task that waits for a lease that is over."""
    lease.grant(100.0)
    clock.now = 130.0
    task = asyncio.ensure_future(lease.wait_until_valid())
    await asyncio.sleep(0.05)
    assert not task.done()
    return task


async def test_a_wait_ends_when_the_group_answers(lease, waiting):
    lease.renew(129.0)
    await waiting


async def test_a_wait_is_fenced_when_the_membership_is_lost(lease, waiting):
    lease.lose()
    with pytest.raises(FencedError, match=r"may have another owner by now.*; start it again"):
        await waiting


async def test_a_lost_lease_is_valid_again_only_after_a_new_assignment(lease, clock):
    lease.grant(100.0)
    lease.lose()
    lease.renew(100.0)
    assert not lease.is_valid
    with pytest.raises(FencedError):
        await lease.wait_until_valid()
    lease.grant(100.0)
    await lease.wait_until_valid()


def test_its_clock_runs_like_the_monotonic_one():
    earliest, before, earlier = time.monotonic(), leases.clock(), time.monotonic()
    time.sleep(0.02)
    later, after, latest = time.monotonic(), leases.clock(), time.monotonic()
    assert later - earlier <= after - before <= latest - earliest


async def test_every_silence_is_logged_once_however_many_wait(lease, clock, caplog):
    lease.grant(100.0)
    for now in (120.0, 140.0):
        clock.now = now
        waiting = [asyncio.create_task(lease.wait_until_valid()) for _ in range(3)]
        await asyncio.sleep(0.01)
        lease.renew(now)
        await asyncio.gather(*waiting)
    warning = "no heartbeat was answered for too long: nothing is written until the group answers"
    assert [line.getMessage() for line in caplog.records] == [warning] * 2
