"""Three brokers that can be killed and stopped."""

from __future__ import annotations

import signal
from pathlib import Path

from onward.benchmarks.arena.kafka_cluster import KafkaCluster

BROKERS = 3
_NOTICED = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "6000"}
"""A machine that is busy with the suite must not make brokers look dead that are not."""


class Brokers(KafkaCluster):
    """Replication 3, two copies in sync; a broker that is gone is noticed after 6 seconds."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, brokers=BROKERS, settings=_NOTICED)

    @property
    def numbers(self) -> list[int]:
        """Of all brokers."""
        return list(range(1, BROKERS + 1))

    def pause(self, number: int) -> None:
        """Let a broker stand still, its connections open."""
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Let it go on."""
        self._processes[number].send_signal(signal.SIGCONT)
