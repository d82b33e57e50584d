"""What an older version has published, held against what this one would publish."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from threading import Event

import pytest

from onward.schemas.events import Application, DeadLetter
from onward.streams import cli
from onward.streams.archive.store import Archive, CheckpointFile
from onward.streams.cli import replay
from onward.streams.errors import UsageError
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.testing.pipeline import START_MS
from onward.testing.tape import JOURNAL, POOR, tape
from onward.tests.support.cut_journals import archive_and_cut
from onward.tests.support.installations import TOPICS
from onward.tests.support.kept_installation import KeptInstallation
from onward.tests.support.ledgers import ledger_position
from onward.tests.support.takeovers import damage


class UpgradedInstallation:
    """An installation of schema 16 that was upgraded, on a broker; ``backup`` holds its old ledger."""

    def __init__(self, broker, kept, backup):
        self.broker, self.kept, self.backup = broker, kept, backup

    def replay(self, *flags):
        specs = [flag for path in sorted(self.kept.folder.glob("*.yaml")) for flag in ("--spec", path.name)]
        return cli.main(["replay", "--check", "--brokers", self.broker.bootstrap, *specs, *flags])


@pytest.fixture
def upgraded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept, backup = KeptInstallation(16, tmp_path), tmp_path / "backup"
    kept.publish(before=ledger_position(kept.ledger).offset)
    backup.mkdir()
    shutil.copy(kept.ledger, backup)
    asyncio.run(kept.fold())
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        yield UpgradedInstallation(broker, kept, backup)


def write(upgraded):
    with EventWriter(upgraded.broker.options()) as writer:
        for (topic, partition), log in upgraded.kept.broker.logs.items():
            for one in log:
                writer.send(topic, one.value or b"", key=one.key, headers=one.headers, partition=partition)


def test_a_replay_from_the_ledger_of_the_upgrade_gives_what_this_version_has_published(upgraded, capsys):
    write(upgraded)
    assert upgraded.replay("--from-ledger", str(upgraded.backup), "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["compared"] > 100
    assert (result["differing"], result["first"]) == (0, None)
    assert ledger_position(upgraded.backup / "journal-0.sqlite").offset < len(upgraded.kept.broker.logs["journal", 0])


def test_the_first_output_that_differs_is_named(upgraded, capsys):
    log = upgraded.kept.broker.logs["recourse", 0]
    last = log[-1]
    event = json.loads(last.value)
    log[-1] = last._replace(value=json.dumps({**event, "step": 4711}, separators=(",", ":")).encode())
    write(upgraded)
    assert upgraded.replay("--from-ledger", str(upgraded.backup)) == 1
    out = capsys.readouterr().out
    position = dict(last.headers)["onward_position"].decode()
    assert "1 differ\n" in out
    assert f"first: recourse partition 0 at position {position}, application {event['application']} of program" in out
    assert f"step: 4711 -> {event['step']}" in out


def replayed(there, capsys, *flags):
    """The exit code and the JSON of a replay; skip where the processor of the older version rounded in another way."""
    code = there.replay(*flags, "--json")
    result = json.loads(capsys.readouterr().out)
    first = result["first"]
    try:
        is_rounded = first is not None and math.isclose(float(first["was"]), float(first["now"]), rel_tol=1e-12)
    except ValueError:
        is_rounded = False
    if is_rounded:
        pytest.skip("the outputs were written on a processor that rounds in another way, so picks differ too")
    return code, result


def test_from_the_beginning_it_tells_what_the_older_version_had_said_otherwise(upgraded, capsys):
    write(upgraded)
    code, result = replayed(upgraded, capsys)
    assert code == 1
    first = result["first"]
    assert int(first["position"].partition(".")[0]) < ledger_position(upgraded.backup / "journal-0.sqlite").offset
    # Its interviews ask other questions, which the version of their policy says.
    assert (first["program"], first["field"]) == ("asking", "policy_version")
    assert {(one["topic"], one["field"]) for one in result["fields"]} == {("recourse", "policy_version")}


@pytest.fixture
def not_upgraded(tmp_path, monkeypatch):
    """An installation of schema 16 with all that it has published, and a backup of the ledger at half its journal."""
    monkeypatch.chdir(tmp_path)
    kept, backup = KeptInstallation(16, tmp_path), tmp_path / "backup"
    kept.publish(before=len(kept.broker.logs["journal", 0]))
    backup.mkdir()
    shutil.copy(kept.ledger, backup)
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        yield UpgradedInstallation(broker, kept, backup)


NO_WAY = "We found no change that would be enough today. You can apply again when your figures have changed."


def as_this_version_says(there):
    """Let the older version have asked what this one asks, and told people in its words that there is no way."""
    log, own = there.kept.broker.logs["recourse", 0], there.kept.programs["asking"].policy_version.encode()
    for at, record in enumerate(log):
        event = json.loads(record.value)
        if event["program"] == "asking":
            log[at] = record._replace(value=record.value.replace(event["policy_version"].encode(), own))
        elif "detail" in event:
            log[at] = record._replace(value=json.dumps(event | {"detail": NO_WAY}).encode())


@pytest.mark.attack
def test_a_field_that_only_this_version_writes_is_told_as_an_addition(not_upgraded, capsys):
    as_this_version_says(not_upgraded)
    write(not_upgraded)
    code, result = replayed(not_upgraded, capsys, "--from-ledger", str(not_upgraded.backup))
    assert code == 0
    assert result["compared"] > 400
    assert (result["differing"], result["fields"]) == (0, [])
    assert [(one["topic"], one["field"]) for one in result["added"]] == [
        ("model-decisions", "reasons"),
        ("recourse", "scores"),
    ]
    assert not_upgraded.replay("--from-ledger", str(not_upgraded.backup)) == 0
    assert "model-decisions: 16 have reasons, which the older version never writes" in capsys.readouterr().out


@pytest.mark.attack
@pytest.mark.parametrize("lacking", [True, False])
def test_what_the_older_version_wrote_elsewhere_or_said_otherwise_is_no_addition(not_upgraded, lacking, capsys):
    as_this_version_says(not_upgraded)
    log = not_upgraded.kept.broker.logs["model-decisions", 0]
    event = json.loads(log[-1].value)
    changed = {name: value for name, value in event.items() if name != "score"} if lacking else event | {"score": 2.0}
    log[-1] = log[-1]._replace(value=json.dumps(changed).encode())
    write(not_upgraded)
    code, result = replayed(not_upgraded, capsys, "--from-ledger", str(not_upgraded.backup))
    assert code == 1
    assert result["fields"] == [{"topic": "model-decisions", "field": "score", "outputs": 1}]
    assert result["first"]["was"] == ("nothing" if lacking else "2.0")


@pytest.mark.attack
def test_unusable_records_are_no_difference_whether_their_topic_holds_them_or_not(tmp_path, capsys):
    there = tape(tmp_path)
    there.applies("ada")
    for name, ms in (("held", 1), ("gone", 3)):
        event, raw = Application("loan", name, dict(POOR)), b"{not json" + name.encode()
        sent = there.sender.record("applications", event, time_ms=START_MS, id=name, raw=raw)
        asyncio.run(there.run.ingest([sent]))
        at, more = (sent.topic, sent.partition, sent.offset), (*sent.headers, ("foreign", b"1"))
        there.run.broker.inputs[at] = sent._replace(headers=more, key=b"k", value=raw if name == "held" else b"other")
        there.applies(f"eve-{name}", ms)
    there.fold()
    held, gone = there.run.events("dead-letters", DeadLetter)
    assert (held.value, held.key, gone.value) == (b"{not jsonheld", b"k", None)
    (tmp_path / "loan.yaml").touch()
    with (
        pytest.MonkeyPatch.context() as patch,
        EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker,
    ):
        patch.setattr(replay, "assemble_all", lambda specs, **_: there.run.programs)
        patch.setattr(replay, "load_program_spec", lambda path: None)
        there.write_to(broker.options())
        place = ["--brokers", broker.bootstrap, "--spec", str(tmp_path / "loan.yaml")]
        assert cli.main(["replay", "--check", *place]) == 0
        assert "0 differ\n" in capsys.readouterr().out
        assert (
            cli.main(["replay", "--check", *place, "--from-ledger", str(tmp_path / "ledger")]) == UsageError.exit_code
        )
        out, err = capsys.readouterr()
        assert "0 outputs compared, 0 differ\njournal partition 0: no output was compared\n" in out
        assert "onward: no output was compared: " in err


@pytest.fixture
def archived(upgraded):
    """The archive of the installation, whose journal was cut behind its checkpoint at the upgrade."""
    write(upgraded)
    archive, ledger = Archive("archive"), upgraded.backup / "journal-0.sqlite"
    archive_and_cut(upgraded.broker, archive, 0)
    checkpoint = CheckpointFile(JOURNAL, ledger_position(ledger).offset, "2026-10")
    archive.write_checkpoint(checkpoint, ledger, Event())
    return checkpoint


def test_a_cut_journal_is_replayed_from_the_checkpoint_of_its_archive(upgraded, archived, capsys):
    assert upgraded.replay("--archive", "archive", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["compared"] > 100
    assert (result["differing"], result["first"]) == (0, None)
    assert upgraded.replay() == UsageError.exit_code
    assert "give --snapshots, --from-ledger or --archive" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_refused_and_the_archive_replayed_from_its_beginning(upgraded, archived, capsys):
    damage(upgraded.kept.folder / "archive" / "journal-0" / archived.name)
    assert upgraded.replay("--archive", "archive", "--json") == 1
    out, err = capsys.readouterr()
    assert f"checkpoint {archived.name}: " in err
    assert int(json.loads(out)["first"]["position"].partition(".")[0]) < archived.offset


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ([], "give --check"),
        (["--check", "--snapshots", "a", "--from-ledger", "b"], "give either --snapshots ADDRESS or --from-ledger"),
    ],
)
def test_wrong_flags_are_refused(flags, line, capsys):
    assert cli.main(["replay", "--brokers", "127.0.0.1:1", "--spec", "a.yaml", *flags]) == UsageError.exit_code
    assert line in capsys.readouterr().err
