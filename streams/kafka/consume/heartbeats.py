"""What the group's answers to a member say about its lease, and what a member that is about to end asks no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiokafka import errors
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

from ...worker.lease import Lease

_CALLED = errors.RebalanceInProgressError.errno
_ASK_ANOTHER = {errors.GroupCoordinatorNotAvailableError.errno, errors.NotCoordinatorForGroupError.errno}


def watch(coordinator: Any, lease: Lease, ends: Callable[[], bool]) -> None:
    """Let every answer that aiokafka's group coordinator hears from now on tell the lease, and let it join no more when
    the worker ``ends``: its successors would wait for it in vain, for a whole session if it is gone before it is
    answered and cannot leave."""
    send, reset = coordinator._send_req, coordinator.reset_generation

    async def watched_send(request: Any) -> Any:
        if isinstance(request, JoinGroupRequest) and ends():
            raise errors.KafkaConnectionError("the worker ends: it joins no group")
        sent = lease.clock()
        answer = await send(request)
        if isinstance(request, SyncGroupRequest) and not answer.error_code:
            lease.granted(sent)
        elif isinstance(request, HeartbeatRequest):
            _hear(lease, sent, answer.error_code)
        return answer

    def watched_reset() -> None:
        # A commit may be what hears of it first; then no heartbeat follows.
        lease.lost()
        reset()

    coordinator._send_req, coordinator.reset_generation = watched_send, watched_reset


def _hear(lease: Lease, sent: float, code: int) -> None:
    if not code:
        lease.renewed(sent)
    elif code == _CALLED:
        lease.called(sent)
    elif code not in _ASK_ANOTHER:
        lease.lost()
