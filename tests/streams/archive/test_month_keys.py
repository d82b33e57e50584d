"""The command that prints keys: what it says is a key, none, or one line."""

from __future__ import annotations

import base64

import pytest

from onward.streams.archive import month_keys
from onward.streams.archive.month_keys import KeyCommandError, MonthKeys, NoKeyError
from onward.streams.errors import UsageError

KEY = bytes(range(32))


@pytest.fixture
def command(tmp_path):
    def write(script):
        path = tmp_path / "key of"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        return MonthKeys(f"'{path}' --for onward")

    return write


def test_the_command_is_given_the_month(command, tmp_path):
    keys = command(f'echo "$@" >> "{tmp_path}/asked"; printf %s {base64.b64encode(KEY).decode()}')
    assert [keys("2026-10"), keys("2026-10"), keys("2026-11")] == [KEY] * 3
    assert (tmp_path / "asked").read_text() == "--for onward 2026-10\n--for onward 2026-11\n"


def test_a_month_without_a_key_is_told_from_a_failure(command):
    with pytest.raises(NoKeyError, match="has no key of 2026-10"):
        command("true")("2026-10")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo the store is; echo locked >&2; exit 3", "key of 2026-10 ended with 3: locked"),
        ("exit 1", "key of 2026-10 ended with 1: no reason"),
        ("echo c2hvcnQ=", "prints no 32 bytes in base64"),
        ("echo 'not base64'", "prints no 32 bytes in base64"),
        ("sleep 60 & sleep 60", "has not ended within 0.2 seconds"),
    ],
)
def test_a_failure_is_one_line_that_holds_no_output(command, script, message, monkeypatch):
    monkeypatch.setattr(month_keys, "SECONDS", 0.2)
    with pytest.raises(KeyCommandError, match=message) as refused:
        command(script)("2026-10")
    assert not any(word in str(refused.value) for word in ("the store", "c2hvcnQ", "not base64", "\n"))


def test_what_cannot_be_run_is_refused(monkeypatch):
    with pytest.raises(KeyCommandError, match="cannot be run: No such file"):
        MonthKeys("nowhere/key")("2026-10")
    for command in ("", "'open"):
        with pytest.raises(UsageError, match=r"^--archive-key-command "):
            MonthKeys(command)
    monkeypatch.setattr(month_keys, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'onward\[archive\]'"):
        MonthKeys("key")
