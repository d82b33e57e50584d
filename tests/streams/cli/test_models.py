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


def spec_of(program, path, tmp_path):
    """The spec of another program with the same features."""
    path.write_text((tmp_path / PROGRAM / "spec.yaml").read_text().replace(PROGRAM, program))
    return path


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
                spec = spec_of(program, tmp_path / "spec.yaml", tmp_path)
                announced = ["models", "announce", *brokers, "--manifest", str(manifest), "--program", program]
                assert main([*announced, "--spec", str(spec)]) == 0
                told = capsys.readouterr().out
                assert told.splitlines()[-1].startswith(
                    f"models: announced second for program {program} ({manifest}, sha256 "
                )
            [letter] = read(broker, TOPICS.dead_letters, 1)
            assert main(["simulate", *WORLD, *brokers, *PLAY, "again"]) == 0
        answers = read(broker, TOPICS.recourse, 12)
    assert letter["reason"] == "unknown_program"
    assert [answer["model"] for answer in answers] == ["world-1"] * 6 + ["second"] * 6


def fewer_columns(path):
    path.write_text(path.read_text().replace("{name: card_utilisation,", "{name: overdraft,"))


def another_program(path):
    path.write_text(path.read_text().replace(PROGRAM, "another"))


def nothing(path):
    pass


@pytest.mark.parametrize(
    ("flags", "change", "code", "words"),
    [
        (
            ["--program", "another"],
            nothing,
            UsageError.exit_code,
            f"was trained for {PROGRAM}; give --spec FILE of another",
        ),
        (["--spec", "SPEC"], another_program, UsageError.exit_code, f"none of another is program '{PROGRAM}'"),
        (["--spec", "SPEC"], fewer_columns, ModelError.exit_code, "it lacks overdraft and adds card_utilisation"),
    ],
)
def test_a_model_that_does_not_fit_is_not_announced(flags, change, code, words, tmp_path, capsys):
    assert main(["simulate", *WORLD, "--programs", str(tmp_path)]) == 0
    spec, manifest = tmp_path / PROGRAM / "spec.yaml", tmp_path / PROGRAM / "model" / "manifest.json"
    change(spec)
    given = [str(spec) if flag == "SPEC" else flag for flag in flags]
    # Nobody listens at this address: asking Kafka would fail with another code.
    assert main(["models", "announce", "--brokers", "127.0.0.1:1", "--manifest", str(manifest), *given]) == code
    assert words in capsys.readouterr().err


def test_a_damaged_bundle_is_not_announced(tmp_path, capsys):
    assert main(["simulate", *WORLD, "--programs", str(tmp_path)]) == 0
    bundle = tmp_path / PROGRAM / "model"
    (bundle / "instances.csv").write_text("x\n1\n")
    flags = ["--brokers", "127.0.0.1:1", "--manifest", str(bundle / "manifest.json")]
    assert main(["models", "announce", *flags]) == ModelError.exit_code
    assert "file instances.csv has 4 bytes" in capsys.readouterr().err


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
