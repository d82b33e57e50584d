"""Which commands take a spec that does not say by which protected features its model decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.streams.cli import main
from onward.tests.support.installations import Installation

ALLOWED = ", may_read: [age_band, dependants]"
NOWHERE = ["--brokers", "127.0.0.1:1"]
TOLD = "the model reads age_band, dependants, which the spec protects: write `model: {may_read: [age_band, dependants]}"


@pytest.fixture
def silent(program: Path) -> Path:
    """The spec of the program as an older version knows it."""
    path, text = program / "silent.yaml", (program / "spec.yaml").read_text()
    assert text.count(ALLOWED) == 1
    path.write_text(text.replace(ALLOWED, ""))
    return path


@pytest.fixture(scope="module")
def answered(installation: Installation) -> Installation:
    """An installation whose journal holds answers."""
    assert installation.simulate("--people", "2", "--run-name", "protected", "--no-web") == 0
    return installation


@pytest.mark.attack
@pytest.mark.parametrize(
    "command",
    [
        ["worker", "--spec", "silent.yaml", "--state-dir", "state", "--no-web", *NOWHERE],
        ["suggest", "people.csv", "--spec", "silent.yaml"],
        ["models", "check", "model/manifest.json", "--spec", "silent.yaml", "--state-dir", "state"],
        ["spec", "check", "silent.yaml"],
        ["models", "announce", "--manifest", "model/manifest.json", "--spec", "silent.yaml", *NOWHERE],
    ],
    ids=" ".join,
)
def test_what_would_let_the_model_decide_is_refused_in_one_line(silent, command, monkeypatch, capsys):
    monkeypatch.chdir(silent.parent)
    assert main(command) == 2
    [line] = [
        line for line in capsys.readouterr().err.splitlines() if "silent.yaml: " in line or "manifest.json: " in line
    ]
    assert TOLD in line


def test_a_check_tells_whether_a_program_may_go_on_without_the_word(silent, capsys):
    allowed = silent.with_name("spec.yaml")
    assert main(["spec", "check", str(allowed), "--against", str(silent)]) == 0
    out, err = capsys.readouterr()
    assert '  model.may_read: none -> ["age_band","dependants"]\n' in out
    assert (f"{allowed}: may be announced" in out, err) == (True, "")
    assert main(["spec", "check", str(silent), "--against", str(allowed)]) == 2
    out, err = capsys.readouterr()
    assert "may be announced" not in out
    assert err.startswith(f"{silent}: {TOLD}")


def test_no_spec_is_announced_without_the_word(silent, answered: Installation, capsys):
    assert main(["specs", "announce", str(silent), "--brokers", answered.broker.bootstrap]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"onward: {silent}: {TOLD}")) == ("", True)


def test_a_log_is_replayed_and_evaluated_with_the_file_of_an_older_version(silent, answered: Installation, capsys):
    at = ["--brokers", answered.broker.bootstrap, "--spec"]
    assert main(["replay", "--check", *at, str(silent)]) == 0
    assert " 0 differ\n" in capsys.readouterr().out
    assert main(["evaluate", "--target-spec", str(silent), *at, str(silent.with_name("spec.yaml"))]) == 0
    # Nothing but that this log is one of the corrected spec.
    assert main(["evaluate", "--choice", "posterior", *at, str(silent)]) == 2
    assert "program 'personal-loan-linucb' runs with another spec" in capsys.readouterr().err
