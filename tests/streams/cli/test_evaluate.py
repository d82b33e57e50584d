"""A log over real sockets, evaluated with one command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from onward.benchmarks.improvement import ARLIM_SPEC
from onward.environments.improvement import ImprovementWorld
from onward.environments.play.lockstep import LockstepWorld
from onward.environments.play.program_folders import write_programs
from onward.environments.population import Population
from onward.schemas.events import Application, Outcome
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.schemas.specfile import load_spec
from onward.streams import cli
from onward.streams.archive.month_keys import MonthKeys
from onward.streams.archive.store import Archive, CheckpointFile, archive_at
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.errors import JournalCutError, UsageError
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.records import TopicPartition
from onward.streams.settings import BrokerSettings
from onward.tests.support.cut_journals import archive_and_cut
from onward.tests.support.installations import TOPICS, read_events
from onward.tests.support.kafka_handlers import read_all
from onward.tests.support.small_models import small_worlds

PEOPLE, FIRST = 500, 200
"""All people, and those whom the first worker answers."""
OPEN = 20
"""The last people, after whom the first worker ends: their outcomes come to the second one."""
PROGRAM = "personal-loan-posterior"
OWN = partition_of(journal_key(PROGRAM, 0), 2)
"""The journal partition of its shard."""
START_MS = 1_790_000_000_000


class LoggedProgram:
    """A broker that holds the log of a program that explores in every step among few candidates."""

    def __init__(self, broker: EmbeddedBroker, spec: Path, snapshots: Path) -> None:
        self.spec = spec
        self.broker = broker
        self.snapshots = snapshots

    def evaluate(self, *flags: str) -> int:
        return cli.main(["evaluate", "--brokers", self.broker.bootstrap, "--spec", str(self.spec), *flags])

    def publish(self, world: LockstepWorld, people: range, outcomes: range) -> None:
        """The applications of some people, and the outcomes of some."""
        with EventWriter(self.broker.options()) as writer:
            for t in sorted({*people, *outcomes}):
                name, features = world.application(t)
                if t in people:
                    _send(writer, TOPICS.applications, name, Application(PROGRAM, name, dict(features)), t)
                if t in outcomes:
                    result = "unseen" if t % 5 == 0 else "improved" if t % 3 == 0 else "not_improved"
                    _send(writer, TOPICS.outcomes, name, Outcome(PROGRAM, name, result), t)


def _send(writer: EventWriter, topic: str, name: str, event: Application | Outcome, t: int) -> None:
    headers = cloud_event_headers(f"{name}/{topic}", "test", ce_type(event), START_MS + t)
    writer.send(topic, msgspec.json.encode(event), key=name.encode(), headers=headers)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedProgram]:
    folder = tmp_path_factory.mktemp("evaluate")
    base = load_spec(ARLIM_SPEC).spec
    with small_worlds():
        world = ImprovementWorld.from_table(Population(seed=2).table(base), base, seed=2, people=PEOPLE)
    [spec] = write_programs("personal-loan", world, folder, {"posterior": {}}).values()
    text = spec.read_text().replace("choice: posterior,", "choice: posterior, exploration: 1,")
    spec.write_text(text.replace("{steps: 10}", "{time: P1D}") + "candidates: 4\n")
    # A tick would move event time to the wall clock and close every window.
    flags = ["--spec", str(spec), "--state-dir", str(folder / "state"), "--no-web", "--tick-seconds", "0"]
    flags += ["--fetch-wait-seconds", "0.01", "--snapshots", str(folder / "snapshots"), "--snapshots-kept", "2"]
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 2)) as broker:
        log = LoggedProgram(broker, spec, folder / "snapshots")
        parts = ((range(FIRST), range(FIRST - OPEN)), (range(FIRST, PEOPLE - 3), range(FIRST - OPEN, PEOPLE - 3)))
        for people, outcomes in parts:
            # A worker that ends takes a snapshot.
            with WorkerProcess(BrokerSettings(brokers=(broker.bootstrap,)), flags, folder / "log"):
                log.publish(world, people, outcomes)
                read_events(broker, TOPICS.recourse, least=people.stop)
                read_events(broker, TOPICS.rewards, least=outcomes.stop)
                if people.stop > FIRST:
                    log.publish(world, range(PEOPLE - 3, PEOPLE), range(0))
                    read_events(broker, TOPICS.recourse, least=PEOPLE)
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

    def evaluate(self, *flags: str, as_json: bool = True) -> int:
        brokers = ["--brokers", self.broker.bootstrap, "--spec", str(self.log.spec)]
        return cli.main(["evaluate", *brokers, "--choice", "linucb", *["--json"] * as_json, *flags])


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
                # The broker forgets whole batches.
                if number % 10 == 0 or record.topic == TOPICS.journal:
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


def test_a_cut_journal_is_evaluated_from_its_oldest_snapshot_on(
    log: LoggedProgram, cut_log: CutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is counted is what the topics hold of the steps after it."""
    assert cut_log.evaluate("--snapshots", str(log.snapshots)) == 0
    found = json.loads(capsys.readouterr().out)
    answers = {one["step"]: one for one in read_events(log.broker, TOPICS.recourse) if one["step"] >= FIRST}
    assert found["steps"] + sum(found["left_out"].values()) == len(answers) == PEOPLE - FIRST
    closed = {one["step"]: one["reward"] for one in read_events(log.broker, TOPICS.rewards) if one["step"] is not None}
    first_open = min(step for step, one in answers.items() if one["kind"] == "recourse" and step not in closed)
    rewards = [closed[step] for step in sorted(closed) if FIRST <= step < first_open and closed[step] is not None]
    assert found["steps"] == len(rewards) > PEOPLE / 10
    assert found["estimates"]["logged"]["value"] == pytest.approx(sum(rewards) / len(rewards))
    assert found["estimates"]["snips"]["low"] < found["estimates"]["snips"]["high"]
    assert 0 < found["suggested_earlier"] <= OPEN
    [begin] = found["begins"]
    assert begin["time"].startswith("20")
    assert cut_log.evaluate("--snapshots", str(log.snapshots), as_json=False) == 0
    line = f"partition {begin['partition']} from offset {begin['offset']:,} ({begin['time']}); "
    assert f"{line}{found['suggested_earlier']} recourses ended that were suggested before" in capsys.readouterr().out


def test_a_spec_that_the_program_of_a_snapshot_cannot_have_is_refused(
    log: LoggedProgram, cut_log: CutLog, capsys: pytest.CaptureFixture[str]
) -> None:
    another = log.spec.with_name("another.yaml")
    for change, said in (
        ("retention: {closed: P9D}", "runs with another spec (sha256 "),
        ("shards: 2", "of snapshot 0"),
    ):
        another.write_text(f"{log.spec.read_text()}{change}\n")
        assert cut_log.evaluate("--snapshots", str(log.snapshots), "--spec", str(another)) == UsageError.exit_code
        assert said in line_of(capsys)


def test_a_snapshot_that_is_damaged_is_left_out(
    log: LoggedProgram, cut_log: CutLog, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy = shutil.copytree(log.snapshots, tmp_path / "copy")
    oldest, newest = sorted((copy / f"journal-{OWN}").glob("*.sqlite"))
    oldest.write_bytes(oldest.read_bytes()[:-1])
    # The newest one stands behind the last answer.
    assert cut_log.evaluate("--snapshots", str(copy)) == UsageError.exit_code
    refused, line = capsys.readouterr().err.splitlines()
    assert f"snapshot {oldest.name} is refused: " in refused
    assert "holds no answers of program 'personal-loan-posterior' since it was cut" in line
    newest.unlink()
    assert cut_log.evaluate("--snapshots", str(copy)) == JournalCutError.exit_code
    assert "no good ledger stands there: give other --snapshots or --archive" in capsys.readouterr().err


def test_an_archive_that_begins_later_is_evaluated_from_its_oldest_checkpoint_on(
    log: LoggedProgram, cut_log: CutLog, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cut_log.evaluate("--snapshots", str(log.snapshots)) == 0
    from_snapshot = json.loads(capsys.readouterr().out)
    [snapshot, *_] = sorted((log.snapshots / f"journal-{OWN}").glob("*.sqlite"))
    flags = ["--archive", str(tmp_path / "archive"), *flags_of(cut_log)[2:]]
    archive = archive_at(flags[1], flags[3] if flags[2:] else None)
    checkpoint = CheckpointFile(TopicPartition(TOPICS.journal, OWN), int(snapshot.name[:20]), "2026-09")
    archive.write_checkpoint(checkpoint, snapshot, Event())
    assert cut_log.evaluate(*flags) == 0
    assert json.loads(capsys.readouterr().out) == from_snapshot


def test_a_cut_journal_without_what_was_cut_is_refused_with_one_line(
    cut_log: CutLog, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cut_log.evaluate() == JournalCutError.exit_code
    assert "and no good ledger stands there: give --snapshots or --archive" in line_of(capsys)
    assert cut_log.evaluate("--archive", str(tmp_path / "another")) == JournalCutError.exit_code
    assert "on the topic and in what can be read of the archive, and no good ledger" in line_of(capsys)
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
    [first, *_] = sorted((copy / f"journal-{OWN}").iterdir())
    first.write_bytes(first.read_bytes()[:-1])
    flags = ["--archive", str(copy), *flags_of(cut_log)[2:]]
    assert cut_log.evaluate(*flags) == UsageError.exit_code
    assert f"--archive: journal partition {OWN}, offset 0: {first}: it " in line_of(capsys)
    first.unlink()
    assert cut_log.evaluate(*flags) == JournalCutError.exit_code
    assert "on the topic and in what can be read of the archive, and no good ledger" in line_of(capsys)


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a refusal."""
    [line] = capsys.readouterr().err.splitlines()
    return line
