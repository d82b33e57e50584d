"""A real Kafka cluster: KRaft brokers on loopback, in a folder, from a KAFKA_HOME with ``libs/*.jar``.

    with KafkaCluster(folder, brokers=3) as cluster:
        cluster.bootstrap                 # "127.0.0.1:40001,127.0.0.1:40002,127.0.0.1:40003"
        cluster.kill(2); cluster.restart(2)

KAFKA_HOME defaults to ``kafka`` in the shared folder (ONWARD_SHARED). ``unavailable`` returns why no cluster can start.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self

from onward.streams.errors import BrokerError

_ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("ONWARD_SHARED") or _ROOT.parent / "shared")
HOME = Path(os.environ.get("KAFKA_HOME") or SHARED / "kafka")
START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_LOGGING = """
Configuration:
  Appenders:
    Console: {name: out, PatternLayout: {pattern: "%d %p %c{1}: %m%n"}}
  Loggers:
    Root: {level: WARN, AppenderRef: {ref: out}}
    Logger: {name: kafka.server.KafkaRaftServer, level: INFO}
"""


def unavailable() -> str | None:
    """Return why no broker can be started here; None when one can."""
    if not list(HOME.glob("libs/kafka_*.jar")):
        return f"no Kafka in {HOME}: set KAFKA_HOME"
    return None if shutil.which("java") else "no java on the path"


class KafkaCluster:
    """Brokers 1 to n, each a broker and a controller; topics are not created on first use."""

    def __init__(
        self,
        folder: Path,
        *,
        brokers: int = 1,
        settings: Mapping[str, str] | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self._folder = folder
        self._start_seconds = start_seconds
        ports = _free_ports(2 * brokers)
        self._ports = {number: ports[number - 1] for number in range(1, brokers + 1)}
        self._controllers = {number: ports[brokers + number - 1] for number in range(1, brokers + 1)}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log4j2.yaml").write_text(_LOGGING)
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        for number in self._ports:
            self._format(number, identity, settings or {})

    @property
    def bootstrap(self) -> str:
        """host:port of every broker."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def start(self) -> None:
        """Start every broker that is down; return when all of them serve."""
        down = [number for number in self._ports if number not in self._processes]
        for number in down:
            with self._log(number).open("wb") as log:
                self._processes[number] = self.run_java("320m", "kafka.Kafka", self._properties(number), log)
        for number in down:
            self._wait(number)

    def kill(self, number: int, sign: int = signal.SIGKILL) -> None:
        """Send a signal to a broker and wait for its end."""
        process = self._processes.pop(number)
        process.send_signal(sign)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def restart(self, number: int) -> None:
        """Start a broker that is down, on its old data."""
        assert number not in self._processes, f"broker {number} is up"
        self.start()

    def stop(self) -> None:
        """Kill every broker: their data is not needed afterwards."""
        for number in list(self._processes):
            self.kill(number)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _format(self, number: int, identity: str, settings: Mapping[str, str]) -> None:
        here = self._properties(number).parent
        here.mkdir(exist_ok=True)
        lines = self._settings(number) | dict(settings)
        self._properties(number).write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        with self._log(number).open("wb") as log:
            tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={identity}", "-c"]
            process = self.run_java("128m", tool, self._properties(number), log)
        try:
            code = process.wait(self._start_seconds)
        finally:
            process.kill()
            process.wait()
        if code:
            raise BrokerError(f"the folder of broker {number} cannot be made: {self._end_of_log(number)}")

    def _settings(self, number: int) -> dict[str, str]:
        copies = min(3, len(self._ports))
        enough = max(1, copies - 1)
        client = f"PLAINTEXT://127.0.0.1:{self._ports[number]}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": number,
            "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{port}" for n, port in self._controllers.items()),
            "listeners": f"{client},CONTROLLER://127.0.0.1:{self._controllers[number]}",
            "advertised.listeners": client,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": self._properties(number).parent / "data",
            "auto.create.topics.enable": "false",
            "default.replication.factor": copies,
            "min.insync.replicas": enough,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": enough,
            "transaction.state.log.num.partitions": 1,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            "broker.heartbeat.interval.ms": 1000,
            "broker.session.timeout.ms": 3000,
        }
        return {name: str(value) for name, value in settings.items()}

    def run_java(self, heap: str, main: str | list[str], properties: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a class of Kafka in a Java process of its own."""
        arguments = [main] if isinstance(main, str) else main
        options = [f"-Xmx{heap}", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={self._folder / 'log4j2.yaml'}"]
        command = ["java", *options, "-cp", f"{HOME / 'libs'}/*", *arguments, str(properties)]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def _wait(self, number: int) -> None:
        deadline = time.monotonic() + self._start_seconds
        while time.monotonic() < deadline and self._processes[number].poll() is None:
            if "Kafka Server started" in self._log(number).read_text(errors="replace"):
                return
            time.sleep(0.1)
        raise BrokerError(f"broker {number} did not start: {self._end_of_log(number)}")

    def _end_of_log(self, number: int) -> str:
        return self._log(number).read_text(errors="replace")[-2000:]

    def _properties(self, number: int) -> Path:
        return self._folder / f"broker-{number}" / "server.properties"

    def _log(self, number: int) -> Path:
        return self._folder / f"broker-{number}" / "server.log"


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports
