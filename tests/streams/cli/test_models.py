"""A retrained model reaches a running worker with one command."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from onward.streams.cli import main
from onward.streams.cli.worker_process import WorkerProcess
from onward.streams.errors import ModelError, UsageError
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics

TOPICS = Topics()
PROGRAM = "personal-loan-linucb"
WORLD = ["--policies", "linucb", "--seed", "2"]
PLAY = ["--people", "6", "--approved-share", "0", "--no-web", "--run-name"]


def renamed(first, folder):
    """The first model again, as another version."""
    shutil.copytree(first, folder)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": "second"}))
    return manifest


def read(broker, topic, count):
    deadline, events = time.monotonic() + 20, []
    with EventReader(broker.options(), [topic]) as reader:
        while len(events) < count:
            events += [json.loads(record.value) for record in reader.poll(0.5)]
            assert time.monotonic() < deadline, events
    return events


def test_a_worker_uses_the_announced_model_from_then_on(tmp_path, capsys):
    assert main(["simulate", *WORLD, "--programs", str(tmp_path)]) == 0
    manifest = renamed(tmp_path / PROGRAM / "model", tmp_path / "second")
    flags = ["--spec", str(tmp_path / PROGRAM / "spec.yaml"), "--state-dir", str(tmp_path / "state")]
    flags += ["--no-web", "--fetch-wait-seconds", "0.002"]
    topics = dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)
    with EmbeddedBroker(topics) as broker:
        brokers = ["--brokers", broker.bootstrap]
        with WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, tmp_path / "log"):
            assert main(["simulate", *WORLD, *brokers, *PLAY, "first"]) == 0
            for program in (PROGRAM, "unheard-of"):
                announced = ["models", "announce", *brokers, "--manifest", str(manifest), "--program", program]
                assert main(announced) == 0
                assert f"{program} uses model second from now on ({manifest}, sha256 " in capsys.readouterr().out
            [letter] = read(broker, TOPICS.dead_letters, 1)
            assert main(["simulate", *WORLD, *brokers, *PLAY, "again"]) == 0
        answers = read(broker, TOPICS.recourse, 12)
    assert letter["reason"] == "unknown_program"
    assert [answer["model"] for answer in answers] == ["world-1"] * 6 + ["second"] * 6


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["list"], UsageError.exit_code, "there is no `onward models list`: use announce"),
        (["announce", "--brokers", "127.0.0.1:1"], UsageError.exit_code, "--manifest is missing"),
        (
            ["announce", "--brokers", "127.0.0.1:1", "--manifest", "absent/manifest.json"],
            ModelError.exit_code,
            "absent/manifest.json: file manifest.json is missing",
        ),
    ],
)
def test_what_cannot_be_announced_is_said_in_a_line(flags, code, words, capsys):
    assert main(["models", *flags]) == code
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
