"""What ``onward specs`` refuses before it reaches Kafka; ``tests/faults/test_changed_spec.py`` announces to workers."""

from __future__ import annotations

import pytest

from onward.streams.cli import main


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["tell"], "there is no `onward specs tell`: use announce"),
        (["announce", "--brokers", "127.0.0.1:1"], "the following arguments are required: FILE"),
        (["announce", "absent.yaml"], "--brokers is missing: give it, or set ONWARD_BROKERS"),
        (["announce", "absent.yaml", "--brokers", "127.0.0.1:1"], "absent.yaml: cannot be read"),
    ],
)
def test_wrong_flags_are_explained_in_one_line(flags, message, capsys):
    assert main(["specs", *flags]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
