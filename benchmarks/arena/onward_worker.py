"""The production worker, ``onward worker``, on the topics of a run."""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from onward.benchmarks.arena.contender import RunTopics
from onward.streams.errors import OnwardError
from onward.tests.support.process import WatchedProcess

COMMAND = [sys.executable, "-P", "-m", "onward", "worker"]
_POLL_SECONDS = 0.02
_REPLY_SECONDS = 5.0
_TAKEN = "took snapshot "


def settings(run_topics: RunTopics, spec: Path, state: Path) -> dict[str, str]:
    """Return the worker's environment: default settings, with the addresses of this run and with snapshots.

    The first snapshot is due ten minutes after the start; add ``snapshots_every`` to a short run.
    """
    return {
        "ONWARD_BROKERS": run_topics.broker.bootstrap,
        "ONWARD_SPEC": str(spec),
        "ONWARD_STATE_DIR": str(state),
        "ONWARD_SNAPSHOTS": str(state.with_name(f"{state.name}-snapshots")),
        "ONWARD_TOPIC_PREFIX": run_topics.topics.prefix,
        "ONWARD_GROUP": run_topics.name,
        "ONWARD_FETCH_WAIT_SECONDS": str(run_topics.broker.fetch_wait_ms / 1000),
        "ONWARD_WEB": "false",
    }


def snapshots_every(seconds: float) -> dict[str, str]:
    """Return the setting for a snapshot of every ledger each ``seconds``."""
    return {"ONWARD_SNAPSHOT_MINUTES": str(seconds / 60)}


def snapshots_taken(process: WatchedProcess, partition: int) -> int:
    """Return the number of snapshots of a partition's ledger in a worker's log."""
    entries = (json.loads(line) for line in process.lines() if _TAKEN in line)
    return sum(entry["message"].startswith(_TAKEN) and entry["partition"] == partition for entry in entries)


class ReadyWorker(WatchedProcess):
    """A worker with a readiness page.

    It is a static member of its group: after a kill its successor on the same state gets the partitions at once.
    """

    def __init__(
        self, run_topics: RunTopics, spec: Path, state: Path, log: Path, more: Mapping[str, str] | None = None
    ) -> None:
        self._port = _free_port()
        web = {"ONWARD_WEB": "true", "ONWARD_WEB_HOST": "127.0.0.1", "ONWARD_WEB_PORT": str(self._port)}
        member = {"ONWARD_GROUP_INSTANCE_ID": f"{run_topics.name}-{state.name}"}
        super().__init__(COMMAND, log, settings(run_topics, spec, state) | web | member | dict(more or {}))

    def ready(self, max_seconds: float) -> None:
        """Return as soon as it is ready; raise ``OnwardError`` when it ends or takes longer."""
        deadline = time.monotonic() + max_seconds
        while not self._answers():
            if self.has_ended or time.monotonic() > deadline:
                raise OnwardError(f"the worker is not ready after {max_seconds:g} s: {self.last_line()}")
            time.sleep(_POLL_SECONDS)

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
