"""The examples of docs/examples against a production worker, over real sockets."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onward.streams.cli import main
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics
from onward.tests.support.loans import write_loans

APPLY = Path(__file__).parents[1] / "docs" / "examples" / "apply.py"
Example = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def apply(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    """The example, beside a worker with a program that its model decides, and one that is decided from outside."""
    folder = tmp_path_factory.mktemp("example")
    data, spec, log = folder / "loans.csv", folder / "loans.yaml", folder / "log"
    write_loans(data)
    assert main(["spec", "draft", str(data), "--label", "repaid", "--output", str(spec)]) == 0
    external = folder / "external.yaml"
    own = spec.read_text().replace("program: loans", "program: external").replace("model/manifest", "other/manifest")
    external.write_text(own + "decisions: external\n")
    for file, model in ((spec, "model"), (external, "other")):
        kind = ["--estimator", "logistic_regression"]
        assert main(["train", str(data), "--spec", str(file), "--output", str(folder / model), *kind]) == 0
    topics = Topics()
    flags = [
        "--spec",
        f"{spec},{external}",
        "--state-dir",
        str(folder / "state"),
        "--no-web",
        "--fetch-wait-seconds",
        "0.002",
    ]
    with EmbeddedBroker(dict.fromkeys((*topics.inputs, topics.journal, *topics.outputs), 2)) as broker:
        settings = BrokerSettings(brokers=(broker.bootstrap,))

        def run(*args: str) -> subprocess.CompletedProcess[str]:
            # The embedded broker waits for the last member of a group, so that each run has its own.
            group = f"portal-{time.monotonic_ns()}"
            command = [sys.executable, str(APPLY), broker.bootstrap, *args, "--group", group]
            return subprocess.run(command, capture_output=True, text=True)

        with WorkerProcess(settings, flags, log):
            yield run


def test_application_decision_and_outcome_come_back_as_recourse_and_reward(apply: Example) -> None:
    done = apply("external", '{"income": 55, "debts": 9, "region": "north"}', "--decide")
    assert (done.returncode, done.stderr) == (0, "")
    decision, *options, reward = done.stdout.splitlines()
    assert decision == "rejected"
    assert options
    assert all(option.startswith(("recourse: income from 55 to ", "recourse: debts from 9 to ")) for option in options)
    assert reward == "rewarded: 1.0"


def test_who_applies_hears_whether_the_model_approves_them(apply: Example) -> None:
    approved = apply("loans", '{"income": 99, "debts": 0, "region": "north"}')
    assert (approved.returncode, approved.stdout, approved.stderr) == (0, "approved\n", "")
    rejected = apply("loans", '{"income": 55, "debts": 9, "region": "north"}')
    decision, recourse, *_, reward = rejected.stdout.splitlines()
    assert (decision, recourse[:10], reward) == ("rejected", "recourse: ", "rewarded: 1.0")


def test_what_is_refused_is_told(apply: Example) -> None:
    done = apply("loans", '{"income": 21, "debts": 7, "region": "nroth"}')
    assert done.returncode == 1
    assert done.stderr.startswith("refused: unknown_category: region: ")
