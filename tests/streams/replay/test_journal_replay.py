"""A journal that is folded again for one program."""

from __future__ import annotations

import pytest

from onward.schemas.events import Application, Outcome
from onward.streams.replay.journal_replay import JournalReplay, ReplayedFate
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import JOURNAL, MINUTE_MS, POOR, TIMED, Tape


def published_and_replayed(there, folder):
    """The fates of Ada's recourse: those that were published, and those of the replay."""
    published = [(one.reward, one.fate == "censored") for one in there.rewards() if one.application == "ada"]
    folder.mkdir()
    replay = JournalReplay(there.run.programs["loan"], Topics(), JOURNAL, folder)
    try:
        replayed = [one for record in there.journal for one in replay.feed(record)] + list(replay.rest())
    finally:
        replay.close()
    return published, [(one.reward, one.censored) for one in replayed if isinstance(one, ReplayedFate)]


@pytest.mark.attack
@pytest.mark.parametrize("ahead_minutes", [0, 23 * 60])
def test_a_strangers_event_of_tomorrow_moves_no_clock_of_a_replay_beyond_the_workers(tmp_path, ahead_minutes):
    programs = {name: build_program(name, window=TIMED["window"]) for name in ("loan", "other")}
    there = Tape(PipelineRun(programs, tmp_path, clock_ms=lambda: START_MS + 10 * MINUTE_MS))
    there.applies("ada", 0)
    ahead_ms = ahead_minutes * MINUTE_MS
    there.send("applications", Application("other", "x", dict(POOR)), ahead_ms, "future-application")
    there.send("outcomes", Outcome("other", "x", "improved"), ahead_ms, "future-outcome")
    there.outcome("ada", 5 * MINUTE_MS)
    there.fold()
    published, replayed = published_and_replayed(there, tmp_path / "replay")
    assert published == replayed == [(1.0, False)]
