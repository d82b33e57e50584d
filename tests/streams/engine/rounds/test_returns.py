"""Who comes back with a promise, and who does not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from onward.streams.engine.rounds.closing import CLOSING
from onward.streams.engine.rounds.promised_scores import PromisedScore
from onward.streams.journal.entries import CaseKey
from onward.streams.ledger.summary import summaries
from onward.testing.ledger import dump
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import MINUTE_MS
from onward.tests.streams.engine.rounds.stories import HOUR_MS, Story, announcement, limited, story
from onward.tests.streams.engine.rounds.test_rounds import closed_at, with_four


def test_another_applicant_who_names_an_application_does_not_come_back_with_its_promise(tmp_path):
    tape = with_four(tmp_path, horizon=2)
    tape.tick(closed_at(1))
    tape.applies_with("other", closed_at(1), 90, applicant="person other", previous="low")
    tape.tick(closed_at(2))
    tape.fold()
    assert "low" not in tape.promises()
    assert tape.thresholds()[-1].returned == 0


@pytest.mark.parametrize("applied_ms", [20 * MINUTE_MS, HOUR_MS])
def test_an_application_from_before_the_answer_is_no_return(tmp_path, applied_ms):
    tape = with_four(tmp_path, horizon=3)
    tape.tick(closed_at(1))
    tape.applies_with("late", applied_ms, 26, applicant="person low")
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.thresholds()[-1].returned == 0


def test_a_new_promise_supersedes_that_of_an_earlier_answer(tmp_path):
    tape = with_four(tmp_path, horizon=3)
    tape.tick(closed_at(1))
    tape.applies_with("late", 20 * MINUTE_MS, 26, applicant="person low")
    for number in range(2):
        tape.applies_with(f"rival {number}", closed_at(1), 45)
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.promises() == {"low": "superseded"}


def test_who_applies_again_in_the_same_round_has_applied_twice(tmp_path):
    tape = story(tmp_path)
    for name, income, previous in (("first", 90, None), ("second", 91, "first"), ("third", 70, None)):
        tape.applies_with(name, 10 * MINUTE_MS, income, previous=previous)
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.places() == {"first": True, "second": False, "third": True}


def test_the_first_application_of_a_person_whom_others_decide_twice_comes_back_with_the_promise(tmp_path):
    tape = story(tmp_path, decisions="external", horizon=3)
    for name, income in (("low", 25), ("best", 45), ("good", 40)):
        tape.applies_with(name, 10 * MINUTE_MS, income)
        tape.decides(name, 11 * MINUTE_MS, approved=name != "low")
    tape.tick(closed_at(1))
    tape.applies_with("first", closed_at(1), 26, previous="low")
    tape.applies_with("second", closed_at(1) + 1, 90, previous="low")
    for name in ("first", "second"):
        tape.decides(name, closed_at(1) + MINUTE_MS, approved=name == "second")
    tape.tick(closed_at(2))
    tape.fold()
    closed = tape.thresholds()[-1]
    assert (closed.newcomers, closed.returned, closed.reached) == (1, 1, 0)


def test_who_is_not_decided_in_a_year_waits_no_more(tmp_path):
    tape, year = story(tmp_path, decisions="external", round=None), 365 * 24
    for hours in (1, year - 1, year + 1):
        tape.send("rounds", announcement(hours, 2), 0, f"r{hours}")
    tape.applies_with("a", 0, 25)
    waiting = []
    for hours in (year - 1, year + 1):
        tape.tick(closed_at(hours))
        [summary] = summaries(tape.fold().parent)
        waiting.append((summary.programs[0].rounds.last_round, summary.programs[0].rounds.waiting))
    assert waiting == [(1, 1), (2, 0)]


@pytest.mark.parametrize("announced", [True, False])
def test_a_round_in_which_others_decided_nobody_is_closed(tmp_path, announced):
    tape = story(tmp_path, decisions="external", **({"round": None} if announced else {"horizon": 2}))
    if announced:
        tape.send("rounds", announcement(1, 3), 0, "r")
    else:
        tape.applies_with("a", 1, 25)
        tape.decides("a", MINUTE_MS, False)
    tape.tick(closed_at(3))
    tape.fold()
    assert tape.thresholds()[-1].applicants == 0
    assert announced or tape.promises() == {"a": "expired"}


def test_a_restart_changes_nothing_where_others_decide_and_a_person_has_two_answers(tmp_path):
    whole, cut = (_decided_by_others(tmp_path / name) for name in ("whole", "cut"))
    expected = dump(whole.fold())
    assert dump(cut.fold(parts=[[record] for record in cut.journal])) == expected
    assert cut.run.outputs() == whole.run.outputs()
    assert list(whole.promises().values()) == ["superseded", "kept"]


def test_who_is_decided_while_their_round_is_being_closed_counts_in_the_next_one(tmp_path, monkeypatch):
    """The decision is late: by its event time it belongs to the round that is being closed."""
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=1, other=1))
    found = []
    for name in ("whole", "cut"):
        program = limited({"horizon": 3}, decisions="external", goal="last_threshold")
        tape = Story(PipelineRun({"loan": program}, tmp_path / name))
        for number in range(6):
            tape.applies_with(f"a{number}", MINUTE_MS, 20.0 + number)
        for number in range(5):
            tape.decides(f"a{number}", 2 * MINUTE_MS, False)
        tape.tick(closed_at(1))
        tape.decides("a5", 2 * MINUTE_MS, True)
        cut = len(tape.journal)
        for number in range(80):
            tape.tick(closed_at(4) + number)
        tape.fold(parts=[tape.journal[:cut], tape.journal[cut:]] if name == "cut" else None)
        found.append([(closed.round, closed.applicants) for closed in tape.thresholds()])
    assert found[0][:2] == [(1, 5), (2, 1)]
    assert found[0] == found[1]


def _decided_by_others(folder):
    tape = story(folder, decisions="external", horizon=6)
    rounds = ((("a1", 25, False), ("a2", 26, False)), (("a3", 90, True),), (("a4", 95, True),))
    for hour, answers in enumerate(rounds):
        for name, income, approved in answers:
            tape.applies_with(name, round((hour + 0.1) * HOUR_MS), income, applicant="p")
            tape.decides(name, round((hour + 0.2) * HOUR_MS), approved)
        tape.tick(closed_at(hour + 1))
    for hour in range(3, 9):
        tape.tick(closed_at(hour + 1))
    return tape


def test_under_another_model_a_promise_asks_for_what_its_worst_option_scores():
    """The score of a model is here the only feature."""

    def promised(model: str, *targets: float) -> float:
        rows = [np.array([value]).tobytes() for value in (0.1, *targets)]
        promise = PromisedScore(CaseKey("loan", "a"), None, 1, 2, 0.9, 0.5, model, rows[0], tuple(rows[1:]), 0)
        return promise.score_under(SimpleNamespace(manifest_sha256="now", model=SimpleNamespace(score=np.ravel)))

    assert promised("now", 0.7, 0.6) == 0.9
    assert promised("before", 0.7, 0.6, 0.8) == 0.6
    assert promised("before") == 0.1, "who has no option was told to apply again as they are"
