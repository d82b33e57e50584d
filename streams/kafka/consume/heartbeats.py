"""Connects a group member's requests to its lease: heartbeats renew it, a lost membership ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiokafka import errors
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

from ...worker.lease import Lease

_REBALANCING = errors.RebalanceInProgressError.errno
_COORDINATOR_MOVED = {errors.GroupCoordinatorNotAvailableError.errno, errors.NotCoordinatorForGroupError.errno}


def report_to_lease(coordinator: Any, lease: Lease, is_stopping: Callable[[], bool]) -> None:
    """Make aiokafka's group coordinator report every answer to the lease, and join no group while ``is_stopping``.

    A worker that joins and ends before the answer cannot leave the group: the other members would wait for it for a
    whole session timeout.
    """
    send, reset = coordinator._send_req, coordinator.reset_generation

    async def send_and_report(request: Any) -> Any:
        if isinstance(request, JoinGroupRequest) and is_stopping():
            raise errors.KafkaConnectionError("the worker ends: it joins no group")
        sent = lease.clock()
        answer = await send(request)
        if isinstance(request, SyncGroupRequest) and not answer.error_code:
            lease.grant(sent)
        elif isinstance(request, HeartbeatRequest):
            _report_heartbeat(lease, sent, answer.error_code)
        return answer

    def reset_and_report() -> None:
        # A refused offset commit may be the first sign of a lost membership; then no heartbeat follows.
        lease.lose()
        reset()

    coordinator._send_req, coordinator.reset_generation = send_and_report, reset_and_report


def _report_heartbeat(lease: Lease, sent: float, error_code: int) -> None:
    if not error_code:
        lease.renew(sent)
    elif error_code == _REBALANCING:
        lease.renew_during_rebalance(sent)
    elif error_code not in _COORDINATOR_MOVED:
        lease.lose()
