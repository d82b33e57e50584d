"""``onward models announce``: checks a model, and a running worker uses it from then on."""

from __future__ import annotations

import json
import shutil

import pytest

from onward.streams.cli import main
from onward.streams.errors import ModelError, UsageError
from onward.tests.support.installations import TOPICS, read_events

PROGRAM = "personal-loan-linucb"


def test_a_worker_uses_the_announced_model_from_then_on(installation, program, tmp_path, capsys):
    manifest = tmp_path / "second" / "manifest.json"
    shutil.copytree(program / "model", manifest.parent)
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": "second"}))
    assert installation.simulate("--people", "6", "--no-web", "--run-name", "before") == 0
    announce = ["models", "announce", "--brokers", installation.broker.bootstrap, "--manifest", str(manifest)]
    assert main(announce) == 0
    announced = f"models: announced second for program {PROGRAM} ({manifest}, sha256 "
    assert capsys.readouterr().out.splitlines()[-1].startswith(announced)
    installation.wait_for_journaled('"version":"second"')
    assert installation.simulate("--people", "6", "--no-web", "--run-name", "after") == 0
    for run_name, model in (("before", "world-1"), ("after", "second")):
        assert [answer["model"] for answer in installation.answers(run_name, 6)] == [model] * 6


def test_a_model_of_a_program_that_no_worker_serves_becomes_a_dead_letter(installation, program):
    manifest = rename(program / "model" / "manifest.json", PROGRAM, "unheard-of")
    before = len(read_events(installation.broker, TOPICS.dead_letters))
    flags = ["--brokers", installation.broker.bootstrap, "--manifest", str(manifest)]
    assert main(["models", "announce", *flags]) == 0
    letters = read_events(installation.broker, TOPICS.dead_letters, before + 1)
    assert [letter["reason"] for letter in letters[before:]] == ["unknown_program"]


def rename(file, name, other):
    file.write_text(file.read_text().replace(name, other))
    return file


@pytest.mark.parametrize(
    ("flags", "change", "code", "message"),
    [
        (["--spec", "SPEC"], (PROGRAM, "another"), UsageError.exit_code, f"none of another is program '{PROGRAM}'"),
        (
            ["--spec", "SPEC"],
            ("margin: 0,", "margin: auto,"),
            UsageError.exit_code,
            "has no margin, which `margin: auto` needs",
        ),
        (
            ["--spec", "SPEC"],
            ("{name: card_utilisation,", "{name: overdraft,"),
            ModelError.exit_code,
            "it lacks overdraft and adds card_utilisation",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_not_announced(flags, change, code, message, program, capsys):
    spec, manifest = program / "spec.yaml", program / "model" / "manifest.json"
    rename(rename(spec, "words: words\n", ""), *change)
    flags = [str(spec) if flag == "SPEC" else flag for flag in flags]
    # Nobody listens at this address: connecting to Kafka would fail with another code.
    assert main(["models", "announce", "--brokers", "127.0.0.1:1", "--manifest", str(manifest), *flags]) == code
    assert message in capsys.readouterr().err


def test_a_model_without_the_retrains_that_the_promise_needs_is_not_announced(program, capsys):
    spec, manifest = program / "spec.yaml", program / "model" / "manifest.json"
    rename(rename(spec, "margin: 0,", ""), "features:", "promise: {kind: retrains}\nfeatures:")
    flags = ["--brokers", "127.0.0.1:1", "--manifest", str(manifest), "--spec", str(spec)]
    assert main(["models", "announce", *flags]) == UsageError.exit_code
    assert "has no retrains, which the promise retrains needs" in capsys.readouterr().err


def test_a_model_whose_version_cannot_be_printed_is_not_announced(program, capsys):
    manifest = program / "model" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": "v1\u202e"}))
    assert main(["models", "announce", "--brokers", "127.0.0.1:1", "--manifest", str(manifest)]) == ModelError.exit_code
    assert r"its version 'v1\u202e' cannot be printed" in capsys.readouterr().err


def test_a_damaged_bundle_is_not_announced(program, capsys):
    (program / "model" / "instances.csv").write_text("x\n1\n")
    flags = ["--brokers", "127.0.0.1:1", "--manifest", str(program / "model" / "manifest.json")]
    assert main(["models", "announce", *flags]) == ModelError.exit_code
    assert "file instances.csv has fewer bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["list"], UsageError.exit_code, "there is no `onward models list`: use import, check or announce"),
        (["announce", "--brokers", "127.0.0.1:1"], UsageError.exit_code, "--manifest is missing"),
        (
            ["announce", "--brokers", "127.0.0.1:1", "--manifest", "absent/manifest.json"],
            ModelError.exit_code,
            "absent/manifest.json: file manifest.json is missing",
        ),
    ],
)
def test_wrong_flags_are_explained_in_one_line(flags, code, message, capsys):
    assert main(["models", *flags]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
