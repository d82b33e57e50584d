"""Progress of a command that reads topics."""

from __future__ import annotations

import pytest

from onward.streams.cli.display.read_progress import EVERY_SECONDS, ReadProgress


def test_a_long_read_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    progress = ReadProgress(4_000, lambda: now[0])
    for _ in range(3):
        now[0] += EVERY_SECONDS / 2
        progress.add(500)
    assert capsys.readouterr().err == "read 1,000 of 4,000 records (25%)\n"
