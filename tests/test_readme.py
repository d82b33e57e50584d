"""Every command of the README's ``sh`` blocks runs, in order, in a folder with the data it speaks of."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.tests.support.loans import write_loans

ROOT = Path(__file__).parents[1]
PARTITIONS = 6
BROKERS = "localhost:9092"
READY_SECONDS = 30.0


def commands() -> list[list[str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture
def brokers() -> Iterator[str]:
    """A broker with the topics, since the embedded one has no admin calls."""
    topics = Topics()
    names = (*topics.inputs, topics.journal, *topics.outputs)
    with EmbeddedBroker(dict.fromkeys(names, PARTITIONS)) as broker:
        yield broker.bootstrap


@contextmanager
def worker(args: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A worker that is ready, and ends well at the end."""
    log = folder / "worker.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(args, cwd=folder, env=environment, stderr=stream)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while "opened ledger" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.timeout(300)
def test_every_command_of_the_readme_runs(tmp_path: Path, brokers: str) -> None:
    write_loans(tmp_path / "loans.csv")
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    environment = {**os.environ, "ONWARD_WEB_PORT": "0"}
    given = [[brokers if word == BROKERS else word for word in args] for args in commands()]
    assert given
    printed = []
    with ExitStack() as running:
        for args in given:
            if args[1] == "worker":
                running.enter_context(worker(args, tmp_path, environment))
            else:
                done = subprocess.run(
                    args, cwd=tmp_path, env=environment, check=True, timeout=120, stdout=subprocess.PIPE
                )
                printed.append(done.stdout.decode())
    assert any("recourse: " in text and text.endswith("rewarded: 1.0\n") for text in printed), printed


def test_the_code_shown_is_that_of_the_example() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert shown in (ROOT / "docs" / "examples" / "apply.py").read_text(encoding="utf-8")
