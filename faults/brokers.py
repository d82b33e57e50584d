"""Three brokers that can be killed and stopped."""

from __future__ import annotations

import signal
from pathlib import Path

from onward.benchmarks.arena.kafka_cluster import KafkaCluster
from onward.streams.errors import BrokerError

BROKERS = 3
_NOTICED = {
    "broker.heartbeat.interval.ms": "1000",
    "broker.session.timeout.ms": "6000",
    "controller.quorum.fetch.timeout.ms": "4000",
    "controller.quorum.election.timeout.ms": "3000",
    "initial.broker.registration.timeout.ms": "180000",
}
"""A machine that is busy with the suite must not make brokers look dead that are not, nor controllers resign."""
_TRIES = 5


class Brokers(KafkaCluster):
    """Replication 3, two copies in sync; a broker that is gone is noticed after 6 seconds."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, brokers=BROKERS, settings=_NOTICED)

    @property
    def numbers(self) -> list[int]:
        """Of all brokers."""
        return list(range(1, BROKERS + 1))

    def start(self) -> None:
        """Return when all brokers are up, however slow the machine; one that has given up is started again.

        Raise ``BrokerError`` when one of them still does not answer after a few minutes, or ends again and again.
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

    def pause(self, number: int) -> None:
        """Let a broker stand still, its connections open."""
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Let it go on."""
        self._processes[number].send_signal(signal.SIGCONT)
