"""Every command of the README's ``sh`` blocks runs, in order, in a folder with the data it speaks of."""

import csv
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics

ROOT = Path(__file__).parents[1]
PARTITIONS = 6
BROKERS = "localhost:9092"
READY_SECONDS = 30.0


def commands() -> list[list[str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()]


def write_loans(path: Path) -> None:
    """Labelled data: who earns more and owes less repays more often."""
    generator = random.Random(0)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["income", "debts", "region", "repaid"])
        for _ in range(400):
            income, debts = generator.randint(10, 100), generator.randint(0, 9)
            repaid = int(income - 8 * debts + generator.gauss(0, 10) > 20)
            writer.writerow([income, debts, generator.choice(["north", "south"]), repaid])


@pytest.fixture
def brokers() -> Iterator[str]:
    """A broker with the topics, since the embedded one has no admin calls."""
    topics = Topics()
    names = (*topics.inputs, topics.journal, *topics.outputs)
    with EmbeddedBroker(dict.fromkeys(names, PARTITIONS)) as broker:
        yield broker.bootstrap


def run(args: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run a command to its end; a worker, until it is ready, and then stop it."""
    if args[1] != "worker":
        subprocess.run(args, cwd=folder, env=environment, check=True, timeout=60)
        return
    log = folder / "worker.log"
    with log.open("wb") as stream:
        worker = subprocess.Popen(args, cwd=folder, env=environment, stderr=stream)
        try:
            deadline = time.monotonic() + READY_SECONDS
            while "opened ledger" not in log.read_text():
                assert worker.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(timeout=20) == 0, log.read_text()
        finally:
            worker.kill()
            worker.wait()


def test_every_command_of_the_readme_runs(tmp_path: Path, brokers: str) -> None:
    write_loans(tmp_path / "loans.csv")
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    environment = {**os.environ, "ONWARD_WEB_PORT": "0"}
    given = commands()
    assert given
    for args in given:
        run([brokers if word == BROKERS else word for word in args], tmp_path, environment)
