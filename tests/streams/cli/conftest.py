"""One simulated program, and for each file a worker that serves it: an idle worker takes processor time from others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from onward.streams.cli import main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.tests.support.installations import TOPICS, WORLD, Installation
from onward.tests.support.small_models import small_forests, small_priors


@pytest.fixture(scope="module", autouse=True)
def small_models() -> Iterator[None]:
    """Commands that train in this process train models of few trees."""
    with small_forests(), small_priors():
        yield


@pytest.fixture(scope="session")
def written_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    assert main(["simulate", *WORLD, "--programs", str(folder)]) == 0
    return folder / "personal-loan-linucb"


@pytest.fixture
def program(written_program: Path, tmp_path: Path) -> Path:
    """A folder of spec.yaml and model/ that a test may change."""
    return Path(shutil.copytree(written_program, tmp_path / "program"))


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        yield broker


@pytest.fixture(scope="module")
def installation(written_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("worker")
    flags = ["--spec", str(written_program / "spec.yaml"), "--state-dir", str(folder / "state"), "--no-web"]
    flags += ["--fetch-wait-seconds", "0.01", "--model-addresses", str(tmp_path_factory.getbasetemp())]
    with (
        EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker,
        WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, folder / "log"),
    ):
        yield Installation(broker)
