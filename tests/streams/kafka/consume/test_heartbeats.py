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
    """Answers with the code that it is told, 2 seconds after it was asked."""

    def __init__(self):
        self.now, self.code, self.resets = 0.0, 0, 0
        self.lease = Lease(10.0, 60.0, lambda: self.now)
        self.ends = False
        report_to_lease(self, self.lease, lambda: self.ends)

    async def _send_req(self, request):
        self.now += 2.0
        return SimpleNamespace(error_code=self.code)

    def reset_generation(self):
        self.resets += 1

    async def asks(self, request, code=0):
        self.code = code
        return await self._send_req(request)

    def runs_at(self, *times):
        found = []
        for self.now in times:
            found.append(self.lease.is_valid)
        return found


async def test_a_lease_begins_with_the_assignment_and_each_answer_renews_it_from_when_it_was_asked_for():
    coordinator = Coordinator()
    await coordinator.asks(HEARTBEAT, errors.UnknownMemberIdError.errno)
    assert coordinator.runs_at(2.0) == [False]
    await coordinator.asks(SYNC, errors.RebalanceInProgressError.errno)
    assert coordinator.runs_at(4.0) == [False]
    assert (await coordinator.asks(SYNC)).error_code == 0
    assert coordinator.runs_at(12.9, 13.1, 6.0) == [True, False, True]
    await coordinator.asks(HEARTBEAT)
    assert coordinator.runs_at(14.9, 15.1) == [True, False]


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        (errors.RebalanceInProgressError.errno, True),
        (errors.NotCoordinatorForGroupError.errno, False),
        (errors.UnknownMemberIdError.errno, False),
        (errors.IllegalGenerationError.errno, False),
        (errors.GroupAuthorizationFailedError.errno, False),
    ],
)
async def test_what_is_no_yes_renews_nothing_and_what_is_a_no_ends_the_lease(code, runs):
    coordinator = Coordinator()
    await coordinator.asks(SYNC)
    coordinator.now = 6.0
    await coordinator.asks(HEARTBEAT, code)
    assert coordinator.runs_at(14.0) == [runs]
    lost = code not in (errors.RebalanceInProgressError.errno, errors.NotCoordinatorForGroupError.errno)
    assert coordinator.runs_at(8.0) == [not lost]


async def test_a_commit_that_hears_it_first_ends_the_lease_too():
    coordinator = Coordinator()
    await coordinator.asks(SYNC)
    coordinator.reset_generation()
    assert (coordinator.runs_at(2.0), coordinator.resets) == ([False], 1)


async def test_one_that_ends_joins_no_more_but_leaves():
    coordinator = Coordinator()
    join, leave = JoinGroupRequest("group", 6000, 6000, "", None, "consumer", []), LeaveGroupRequest("group", "member")
    assert (await coordinator.asks(join)).error_code == 0
    coordinator.ends = True
    assert (await coordinator.asks(leave)).error_code == 0
    with pytest.raises(errors.KafkaError, match="joins no group"):
        await coordinator.asks(join)
