"""Every command of the README's ``sh`` blocks runs, in order, in a folder with the docs and the installed command."""

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from onward.streams import cli
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.tests.support.forked_process import ForkedProcess

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PARTITIONS = 6
REPLACED = {"100": "10"}
"""Fewer applicants than the README has in its demo."""


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture
def bootstrap() -> Iterator[str]:
    """A broker with the topics, since the embedded one has no admin calls."""
    topics = Topics()
    names = (*topics.inputs, topics.journal, *topics.outputs)
    with EmbeddedBroker(dict.fromkeys(names, PARTITIONS)) as broker:
        yield broker.bootstrap


class Shell:
    """Runs commands in a folder. The demo and the worker run in the background until the end of the context.

    The first ``onward`` command runs as the installed script, the others are forked to save their imports.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.background: list[tuple[str, ForkedProcess]] = []
        self.printed: list[str] = []
        self._count = 0
        self._running = ExitStack()

    def run(self, args: Sequence[str]) -> None:
        is_onward = Path(args[0]).name == "onward"
        self._count += is_onward
        if not is_onward or self._count == 1:
            done = subprocess.run(args, cwd=self.folder, check=True, stdout=subprocess.PIPE)
            self.printed.append(done.stdout.decode())
            return
        log = self.folder / f"{self._count}-{args[1]}.log"
        process = ForkedProcess(cli.main, args[1:], log, {"ONWARD_WEB_PORT": "0"}, self.folder)
        self._running.enter_context(process)
        if args[1] == "worker":
            wait_for("opened ledger", log, process)
        if args[1] in ("worker", "demo"):
            self.background.append((args[1], process))
        else:
            assert process.wait() == 0, (args, log.read_text())
            self.printed.append(log.read_text())

    def stop(self) -> None:
        """Let the demo end by itself and the worker by a signal."""
        for name, process in self.background:
            assert (process.terminate() if name == "worker" else process.wait()) == 0, process.last_line()

    def __enter__(self) -> "Shell":
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()


def wait_for(message: str, log: Path, process: ForkedProcess) -> None:
    while not log.exists() or message not in log.read_text():
        assert process.exit_code is None, log.read_text()
        time.sleep(0.05)


def test_every_command_of_the_readme_runs_and_suggests_what_it_shows(tmp_path: Path, bootstrap: str) -> None:
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    replaced = {"localhost:9092": bootstrap, **REPLACED}
    listed = [[replaced.get(word, word) for word in args] for args in commands()]
    assert {args[1] for args in listed} >= {"spec", "demo", "train", "worker"}
    with Shell(tmp_path) as shell:
        for args in listed:
            shell.run(args)
        shell.stop()
        assert any("recourse: " in text and text.endswith("rewarded: 1.0\n") for text in shell.printed), shell.printed
    (suggested,) = re.findall(r"^```\n(0: .*?)^```", README, re.MULTILINE | re.DOTALL)
    assert any(suggested in text for text in shell.printed), shell.printed


def test_the_code_shown_is_that_of_the_example() -> None:
    (shown,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shown in (ROOT / "docs" / "examples" / "apply.py").read_text(encoding="utf-8")
