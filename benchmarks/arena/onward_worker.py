"""The production worker, ``onward worker``, on a lane."""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from onward.benchmarks.arena.contender import Lane
from onward.streams.errors import OnwardError
from onward.tests.support.process import WatchedProcess

COMMAND = [sys.executable, "-P", "-m", "onward", "worker"]
_LOOK_SECONDS = 0.02
_REPLY_SECONDS = 5.0
_TAKEN = "took snapshot "


def settings(lane: Lane, spec: Path, state: Path) -> dict[str, str]:
    """The worker's environment: defaults, but for what says where things are; snapshots are on.

    By default the first is due ten minutes after the start: to see any in a short run add ``snapshots_every``.
    """
    return {
        "ONWARD_BROKERS": lane.broker.bootstrap,
        "ONWARD_SPEC": str(spec),
        "ONWARD_STATE_DIR": str(state),
        "ONWARD_SNAPSHOTS": str(state.with_name(f"{state.name}-snapshots")),
        "ONWARD_TOPIC_PREFIX": lane.topics.prefix,
        "ONWARD_GROUP": lane.name,
        "ONWARD_FETCH_WAIT_SECONDS": str(lane.broker.fetch_wait_ms / 1000),
        "ONWARD_WEB": "false",
    }


def snapshots_every(seconds: float) -> dict[str, str]:
    """The setting by which a snapshot of every ledger is due so many seconds after the one before."""
    return {"ONWARD_SNAPSHOT_MINUTES": str(seconds / 60)}


def snapshots_taken(process: WatchedProcess, partition: int) -> int:
    """Snapshots of the ledger of a journal partition that a worker has taken so far, by its log."""
    told = (json.loads(line) for line in process.lines() if _TAKEN in line)
    return sum(line["message"].startswith(_TAKEN) and line["partition"] == partition for line in told)


class ReadyWorker(WatchedProcess):
    """A worker that says when it is ready. It is a static member of its group: when it was killed, a successor of the
    same state folder need not wait until the group has noticed."""

    def __init__(self, lane: Lane, spec: Path, state: Path, log: Path, more: Mapping[str, str] | None = None) -> None:
        self._port = _free_port()
        web = {"ONWARD_WEB": "true", "ONWARD_WEB_HOST": "127.0.0.1", "ONWARD_WEB_PORT": str(self._port)}
        member = {"ONWARD_GROUP_INSTANCE_ID": f"{lane.name}-{state.name}"}
        super().__init__(COMMAND, log, settings(lane, spec, state) | web | member | dict(more or {}))

    def ready(self, patience_seconds: float) -> None:
        """Return as soon as it is; raise ``OnwardError`` when it ends or takes longer."""
        deadline = time.monotonic() + patience_seconds
        while not self._answers():
            if self.has_ended or time.monotonic() > deadline:
                raise OnwardError(f"the worker is not ready after {patience_seconds:g} s: {self.last_line()}")
            time.sleep(_LOOK_SECONDS)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=_REPLY_SECONDS) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
