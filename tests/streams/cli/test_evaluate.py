"""A log over real sockets, evaluated with one command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.benchmarks.improvement import ARLIM_SPEC
from onward.environments.improvement import ImprovementWorld
from onward.environments.population import Population
from onward.schemas.events import Application, Outcome
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.schemas.specfile import load_spec
from onward.streams import cli
from onward.streams.archive.month_keys import MonthKeys
from onward.streams.archive.store import Archive
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.cli.worlds.lockstep import World
from onward.streams.cli.worlds.program_folders import write_programs
from onward.streams.errors import JournalCutError, UsageError
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.settings import BrokerSettings
from onward.tests.support.cut_journals import archive_and_cut
from onward.tests.support.installations import TOPICS, read_events
from onward.tests.support.kafka_handlers import read_all

PEOPLE = 1000
PROGRAM = "personal-loan-posterior"
START_MS = 1_790_000_000_000


class LoggedProgram:
    """A broker that holds the log of a program that explores in every step among few candidates."""

    def __init__(self, broker: EmbeddedBroker, spec: Path) -> None:
        self.spec = spec
        self.broker = broker

    def evaluate(self, *flags: str) -> int:
        return cli.main(["evaluate", "--brokers", self.broker.bootstrap, "--spec", str(self.spec), *flags])

    def publish(self, world: World) -> None:
        """All applications, and the outcomes of all but the last three."""
        with EventWriter(self.broker.options()) as writer:
            for t in range(PEOPLE):
                name, features = world.application(t)
                result = "unseen" if t % 5 == 0 else "improved" if t % 3 == 0 else "not_improved"
                events = (Application(PROGRAM, name, dict(features)), Outcome(PROGRAM, name, result))
                for topic, event in zip(
                    (TOPICS.applications, TOPICS.outcomes), events[: 1 + (t < PEOPLE - 3)], strict=False
                ):
                    identity = f"{name}/{topic}"
                    headers = cloud_event_headers(identity, "test", ce_type(event), START_MS + t)
                    writer.send(topic, msgspec.json.encode(event), key=name.encode(), headers=headers)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedProgram]:
    folder = tmp_path_factory.mktemp("evaluate")
    base = load_spec(ARLIM_SPEC).spec
    world = ImprovementWorld.from_table(Population(seed=2).table(base), base, seed=2, people=PEOPLE)
    [spec] = write_programs("personal-loan", world, folder, {"posterior": {}}).values()
    text = spec.read_text().replace("choice: posterior,", "choice: posterior, exploration: 1,")
    spec.write_text(text.replace("{steps: 10}", "{time: P1D}") + "candidates: 4\n")
    # A tick would move event time to the wall clock and close every window.
    flags = ["--spec", str(spec), "--state-dir", str(folder / "state"), "--no-web", "--tick-seconds", "0"]
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        log = LoggedProgram(broker, spec)
        with WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, folder / "log"):
            log.publish(world)
            read_events(broker, TOPICS.recourse, least=PEOPLE)
            read_events(broker, TOPICS.rewards, least=PEOPLE - 3)
        yield log


def test_the_estimates_agree_with_the_events_on_the_topics(
    log: LoggedProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    assert log.evaluate("--choice", "protoar", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    answers = {answer["step"]: answer for answer in read_events(log.broker, TOPICS.recourse)}
    closed = {
        reward["step"]: reward["reward"]
        for reward in read_events(log.broker, TOPICS.rewards)
        if reward["step"] is not None
    }
    left_out = found["left_out"]
    assert found["steps"] + sum(left_out.values()) == len(answers) == PEOPLE
    kinds = {step: answer["kind"] for step, answer in answers.items()}
    assert left_out["without_recourse"] == list(kinds.values()).count("none")
    first_open = min(step for step, kind in kinds.items() if kind == "recourse" and step not in closed)
    rewards = [closed[step] for step in sorted(closed) if step < first_open and closed[step] is not None]
    assert left_out["unseen"] > 0
    assert found["steps"] == len(rewards)
    assert found["estimates"]["logged"]["value"] == pytest.approx(sum(rewards) / len(rewards))
    assert {answer["policy_version"] for answer in answers.values()} == {found["log"]["policy_version"]}
    assert (found["target"]["choice"], found["target"]["exploration"]) == ("protoar", 0.0)
    assert found["warning"] is None
    assert found["mean_weight"] == pytest.approx(1.0, abs=0.4)
    for name in ("ips", "snips", "doubly_robust"):
        assert found["estimates"][name]["low"] < found["estimates"][name]["value"] < found["estimates"][name]["high"]


def test_a_target_spec_gives_the_same_estimates_in_a_table(
    log: LoggedProgram, uncut: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = log.spec.with_name("other.yaml")
    other.write_text(log.spec.read_text().replace("choice: posterior, exploration: 1", "choice: linucb"))
    assert log.evaluate("--target-spec", str(other)) == 0
    table = capsys.readouterr().out
    assert "linucb on the log of posterior" in table
    for name in ("snips", "doubly_robust"):
        estimate = uncut["estimates"][name]
        assert all(f"{estimate[end]:.4f}" in table for end in ("value", "low", "high"))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "give the policy to evaluate: either --target-spec FILE or --choice NAME"),
        (["--choice", "linucb", "--parameter", "delta"], "--parameter 'delta': give NAME=NUMBER"),
        (["--choice", "linucb", "--parameter", "delta=2"], "delta is 2.0"),
        (["--choice", "unheard-of"], "there is no choice 'unheard-of'"),
        (["--target-spec", "absent.yaml"], "absent.yaml"),
    ],
)
def test_a_wrong_policy_is_refused_before_connecting_to_kafka(
    log: LoggedProgram, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["evaluate", "--brokers", "127.0.0.1:1", "--spec", str(log.spec), *flags]) == UsageError.exit_code
    assert message in capsys.readouterr().err


def test_the_log_of_another_spec_is_refused(log: LoggedProgram, capsys: pytest.CaptureFixture[str]) -> None:
    another = log.spec.with_name("another.yaml")
    another.write_text(log.spec.read_text() + "retention: {closed: P9D}  # changed\n")
    flags = ["evaluate", "--brokers", log.broker.bootstrap, "--choice", "linucb", "--spec"]
    assert cli.main([*flags, str(another)]) == UsageError.exit_code
    assert "runs with another spec (sha256 " in capsys.readouterr().err
    text = log.spec.read_text().replace("program: personal-loan-posterior", "program: elsewhere")
    another.write_text(text.replace("model/manifest.json", "model/elsewhere.json"))
    manifest = (log.spec.parent / "model" / "manifest.json").read_text()
    (log.spec.parent / "model" / "elsewhere.json").write_text(manifest.replace("personal-loan-posterior", "elsewhere"))
    assert cli.main([*flags, str(another)]) == UsageError.exit_code
    assert "journal holds no answers of program 'elsewhere'" in capsys.readouterr().err


class CutLog:
    """A copy of a log whose journal is archived, and was cut in each partition."""

    def __init__(self, log: LoggedProgram, broker: EmbeddedBroker, address: Path) -> None:
        self.log, self.broker, self.address = log, broker, address

    def evaluate(self, *flags: str) -> int:
        brokers = ["--brokers", self.broker.bootstrap, "--spec", str(self.log.spec)]
        return cli.main(["evaluate", *brokers, "--choice", "linucb", "--json", *flags])


def key_command(folder: Path) -> str:
    """A command that knows the keys of all months but 2026-07."""
    script = folder / "key-of"
    script.write_text(
        '#!/bin/sh\n[ "$1" = 2026-07 ] || printf %s "$1" | sha256sum | cut -c 1-32 | tr -d "\\n" | base64\n'
    )
    script.chmod(0o700)
    return str(script)


@pytest.fixture(scope="module")
def uncut(log: LoggedProgram) -> dict[str, Any]:
    """What is printed of the log that was not cut."""
    with redirect_stdout(StringIO()) as printed:
        assert log.evaluate("--choice", "linucb", "--json") == 0
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


@pytest.fixture(scope="module", params=["plain", "sealed"])
def cut_log(
    request: pytest.FixtureRequest, log: LoggedProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CutLog]:
    folder = tmp_path_factory.mktemp("cut")
    keys = MonthKeys(key_command(folder)) if request.param == "sealed" else None
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        with EventWriter(broker.options()) as writer:
            for number, record in enumerate(read_all(log.broker.options(), TOPICS.journal, TOPICS.recourse)):
                value, headers = record.value or b"", list(record.headers)
                writer.send(record.topic, value, key=record.key, headers=headers, partition=record.partition)
                if number % 10 == 0:
                    writer.flush()
        archive_and_cut(broker, Archive(str(folder / "archive"), keys), START_MS)
        yield CutLog(log, broker, folder / "archive")


def flags_of(cut_log: CutLog) -> list[str]:
    command = cut_log.address.parent / "key-of"
    sealed = ["--archive-key-command", str(command)] if command.exists() else []
    return ["--archive", str(cut_log.address), *sealed]


def test_a_cut_journal_is_evaluated_from_its_archive_as_one_that_was_not_cut(
    uncut: dict[str, Any], cut_log: CutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cut_log.evaluate(*flags_of(cut_log)) == 0
    assert json.loads(capsys.readouterr().out) == uncut
    assert uncut["steps"] > PEOPLE / 3


def test_a_cut_journal_without_what_was_cut_is_refused_with_one_line(
    cut_log: CutLog, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cut_log.evaluate() == JournalCutError.exit_code
    assert "on, and evaluate folds it from its beginning: give --archive" in line_of(capsys)
    assert cut_log.evaluate("--archive", str(tmp_path / "another")) == JournalCutError.exit_code
    assert "so is it in the archive" in line_of(capsys)
    # Sealed where it should not be, or the other way round.
    other = ["--archive", str(cut_log.address)]
    if len(flags_of(cut_log)) == 2:
        other += ["--archive-key-command", key_command(tmp_path)]
    assert cut_log.evaluate(*other) == UsageError.exit_code
    assert "--archive-key-command" in line_of(capsys)


def test_a_segment_that_is_damaged_or_gone_is_named(
    cut_log: CutLog, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy = shutil.copytree(cut_log.address, tmp_path / "copy")
    [first, *_] = sorted((copy / "journal-0").iterdir())
    first.write_bytes(first.read_bytes()[:-1])
    flags = ["--archive", str(copy), *flags_of(cut_log)[2:]]
    assert cut_log.evaluate(*flags) == UsageError.exit_code
    assert f"--archive: journal partition 0, offset 0: {first}: it " in line_of(capsys)
    first.unlink()
    assert cut_log.evaluate(*flags) == JournalCutError.exit_code
    assert "so is it in the archive" in line_of(capsys)


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a refusal."""
    [line] = capsys.readouterr().err.splitlines()
    return line
