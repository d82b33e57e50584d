"""The commands of docs/how-to/test-your-own.md, run in order in a folder that holds the examples and nothing of the
tree: Onward is the installed one, and the worker is on an embedded broker."""

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onward.testing
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.testing import ContractError, check_choice
from onward.tests.support.example_methods import OWN, method_of
from onward.tests.support.loans import write_loans

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "test-your-own.md").read_text(encoding="utf-8")
INSTALLATION = ["python3 -m venv .venv", ".venv/bin/pip install onward"]


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


@pytest.fixture
def bootstrap() -> Iterator[str]:
    """A broker with the topics, since the embedded one creates none."""
    topics = Topics()
    names = (*topics.inputs, topics.journal, *topics.outputs, "withdrawals", "confirmations")
    with EmbeddedBroker(dict.fromkeys(names, 2)) as broker:
        yield broker.bootstrap


def test_every_command_of_the_page_prints_what_it_shows(tmp_path: Path, bootstrap: str) -> None:
    for file in OWN.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    write_loans(tmp_path / "loans.csv")
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert lines[:2] == INSTALLATION
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"ONWARD_WEB_PORT": "0", "ONWARD_FETCH_WAIT_SECONDS": "0.02"}
    printed, worker = "", None
    try:
        for line in lines[2:]:
            command = shlex.split(line.replace("localhost:9092", bootstrap))
            if "worker" in command:
                with (tmp_path / "log").open("w") as log:
                    worker = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
                continue
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            printed += done.stdout
        assert worker is not None
        worker.terminate()
        assert worker.wait() == 0, (tmp_path / "log").read_text()
    finally:
        if worker is not None and worker.poll() is None:
            worker.kill()
    shown = [block for block in blocks("") if "breaks the law" not in block]
    assert len(shown) == 4
    assert not [block for block in shown if block not in printed], printed


def test_the_code_of_the_page_is_that_of_the_examples() -> None:
    code = (OWN / "check.py").read_text(encoding="utf-8") + (OWN / "story.py").read_text(encoding="utf-8")
    assert len(blocks("python")) == 2
    assert not [block for block in blocks("python") if block not in code]


def test_the_arguments_of_the_page_are_those_of_the_functions() -> None:
    shown = re.findall(r"^\| `(check_\w+)(\(.*?\))`", PAGE, re.MULTILINE)
    assert len(shown) == 7
    for name, arguments in shown:
        signature = inspect.signature(getattr(onward.testing, name))
        parameters = [
            parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()
        ]
        assert arguments == str(inspect.Signature(parameters))


def test_a_broken_learner_is_told_what_the_page_shows() -> None:
    class Forgets(method_of(OWN / "success_share.py")):  # type: ignore[misc]
        def restore(self, state):
            self.check_state(state)
            self._rewarded = state["rewarded"].copy()

    with pytest.raises(ContractError) as broken:
        check_choice(Forgets)
    assert f"{broken.value}\n" in blocks("")
