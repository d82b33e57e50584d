"""What an explanation says of programs that Onward does not decide, of rounds, and of what is not there yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.streams.cli.display.explanation import (
    NO_ANSWER,
    NO_DECISION,
    NO_REASONS,
    NOT_OURS,
    ShownExplanation,
    explain,
)
from onward.streams.replay.history import History
from onward.testing.tape import MINUTE_MS, TIMED, Tape, tape
from onward.tests.streams.engine.promises import stories as promised
from onward.tests.streams.engine.rounds.stories import HOUR_MS, story


def explanation(told: Tape, name: str) -> ShownExplanation:
    history = History(name, "loan", told.run.topics)
    for topic in (*told.run.topics.outputs, told.run.topics.journal):
        for record in told.run.broker.logs[topic, 0]:
            history.feed(record)
    return explain(name, "loan", history.happenings, None)


def test_why_another_system_decided_is_not_known(tmp_path: Path) -> None:
    told = tape(tmp_path, decisions="external", **TIMED)
    told.applies("p")
    told.fold("first")
    assert explanation(told, "p").missing == [NO_DECISION]
    told.decides("p", MINUTE_MS)
    told.fold()
    own = explanation(told, "p")
    assert (own.approved, own.reasons, own.missing) == (False, None, [NOT_OURS])
    assert own.versions.model == "v1"


def test_a_decision_without_reasons_and_without_an_answer_says_so(tmp_path: Path) -> None:
    told = tape(tmp_path, **TIMED)
    told.applies("p")
    told.fold()
    told.run.broker.logs["recourse", 0].clear()
    assert explanation(told, "p").missing == [NO_REASONS, NO_ANSWER]


def test_the_promise_of_a_round_and_its_end_are_told(tmp_path: Path) -> None:
    told = story(tmp_path)
    for name, income in {"low": 25, "best": 45, "good": 40}.items():
        told.applies_with(name, MINUTE_MS, income)
    told.tick(HOUR_MS + 6 * MINUTE_MS)
    told.applies_with("again", HOUR_MS + 6 * MINUTE_MS, 99, previous="low")
    told.tick(2 * HOUR_MS + 6 * MINUTE_MS)
    told.fold()
    own = explanation(told, "low")
    [promise] = own.promised
    assert promise.startswith("target score ")
    assert ": kept in round 2, by again" in own.became[-1].words
    assert [reason.text for reason in own.reasons or ()] == [
        "round 1 had fewer places than there were people who qualify"
    ]


def test_promised_options_are_told_with_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = promised.story(tmp_path, monkeypatch)
    told.applies_with("a", 0, applicant="a")
    told.fold()
    assert explanation(told, "a").promised == ["options 1, 2 until 2026-09-22T00:13:20.000Z"]
