"""Three brokers that can be killed and suspended."""

from __future__ import annotations

import signal
from pathlib import Path

from onward.streams.errors import BrokerError
from onward.tests.support.kafka_cluster import START_SECONDS, KafkaCluster

BROKERS = 3
_TOLERANT = {
    "broker.heartbeat.interval.ms": "1000",
    "broker.session.timeout.ms": "6000",
    "controller.quorum.fetch.timeout.ms": "4000",
    "controller.quorum.election.timeout.ms": "3000",
    "initial.broker.registration.timeout.ms": "180000",
}
"""On a busy machine a slow broker must not be taken for a dead one, and no controller must resign."""
_TRIES = 5


class Brokers(KafkaCluster):
    """Replication 3, at least two replicas in sync. The cluster notices a dead broker after 6 seconds."""

    def __init__(self, folder: Path, *, start_seconds: float = START_SECONDS) -> None:
        super().__init__(folder, brokers=BROKERS, settings=_TOLERANT, start_seconds=start_seconds)

    @property
    def numbers(self) -> list[int]:
        """The numbers of all brokers."""
        return list(range(1, BROKERS + 1))

    def start(self) -> None:
        """Start the brokers that are down, and again those that end while they start; return when all are up.

        Raise ``BrokerError`` when one of them is not up after five tries.
        """
        for left in reversed(range(_TRIES)):
            for number in [number for number, process in self._processes.items() if process.poll() is not None]:
                del self._processes[number]
            try:
                super().start()
                for number in self.numbers:
                    self._wait(number)
                return
            except BrokerError:
                if not left:
                    raise

    def suspend(self, number: int) -> None:
        """Send SIGSTOP to a broker; its connections stay open."""
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Send SIGCONT to a broker."""
        self._processes[number].send_signal(signal.SIGCONT)
