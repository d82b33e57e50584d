from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiokafka import errors
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

from onward.streams.kafka.consume.heartbeats import report_to_lease
from onward.streams.worker.lease import Lease

SYNC = SyncGroupRequest("group", 1, "member", "", [])
HEARTBEAT = HeartbeatRequest("group", 1, "member")


class Coordinator:
    """Answers every request after 2 seconds, with the error code of ``ask``."""

    def __init__(self):
        self.now, self.code, self.resets = 0.0, 0, 0
        self.lease = Lease(10.0, 60.0, lambda: self.now)
        self.is_stopping = False
        report_to_lease(self, self.lease, lambda: self.is_stopping)

    async def _send_req(self, request):
        self.now += 2.0
        return SimpleNamespace(error_code=self.code)

    def reset_generation(self):
        self.resets += 1

    async def ask(self, request, code=0):
        self.code = code
        return await self._send_req(request)

    def valid_at(self, *times):
        valid = []
        for self.now in times:
            valid.append(self.lease.is_valid)
        return valid


async def test_the_lease_counts_from_when_the_answered_request_was_sent():
    coordinator = Coordinator()
    await coordinator.ask(HEARTBEAT, errors.UnknownMemberIdError.errno)
    assert coordinator.valid_at(2.0) == [False]
    await coordinator.ask(SYNC, errors.RebalanceInProgressError.errno)
    assert coordinator.valid_at(4.0) == [False]
    assert (await coordinator.ask(SYNC)).error_code == 0
    assert coordinator.valid_at(12.9, 13.1, 6.0) == [True, False, True]
    await coordinator.ask(HEARTBEAT)
    assert coordinator.valid_at(14.9, 15.1) == [True, False]


@pytest.mark.parametrize(
    ("code", "is_valid"),
    [
        (errors.RebalanceInProgressError.errno, True),
        (errors.NotCoordinatorForGroupError.errno, False),
        (errors.UnknownMemberIdError.errno, False),
        (errors.IllegalGenerationError.errno, False),
        (errors.GroupAuthorizationFailedError.errno, False),
    ],
)
async def test_an_error_renews_nothing_and_a_lost_membership_ends_the_lease(code, is_valid):
    coordinator = Coordinator()
    await coordinator.ask(SYNC)
    coordinator.now = 6.0
    await coordinator.ask(HEARTBEAT, code)
    assert coordinator.valid_at(14.0) == [is_valid]
    lost = code not in (errors.RebalanceInProgressError.errno, errors.NotCoordinatorForGroupError.errno)
    assert coordinator.valid_at(8.0) == [not lost]


async def test_a_reset_after_a_refused_commit_ends_the_lease():
    coordinator = Coordinator()
    await coordinator.ask(SYNC)
    coordinator.reset_generation()
    assert (coordinator.valid_at(2.0), coordinator.resets) == ([False], 1)


async def test_a_stopping_worker_joins_no_group_but_can_leave_it():
    coordinator = Coordinator()
    join, leave = JoinGroupRequest("group", 6000, 6000, "", None, "consumer", []), LeaveGroupRequest("group", "member")
    assert (await coordinator.ask(join)).error_code == 0
    coordinator.is_stopping = True
    assert (await coordinator.ask(leave)).error_code == 0
    with pytest.raises(errors.KafkaError, match="joins no group"):
        await coordinator.ask(join)
