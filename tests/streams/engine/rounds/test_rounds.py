"""Rounds with limited places, event by event."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from msgspec import UNSET

from onward.agents.goals.sac import SPAN, goal_policy
from onward.agents.sigmoid import bounded_logit, bounded_sigmoid
from onward.schemas.events import Application, Model, ModelDecision, NoRecourse, Outcome, Recourse
from onward.schemas.headers import format_time
from onward.streams.engine.rounds import closing
from onward.streams.engine.rounds.closing import CLOSING
from onward.streams.engine.rounds.promised_scores import PromisedScore
from onward.streams.engine.rounds.ranking import ranking_of_decisions
from onward.streams.engine.rounds.state import ProgramRounds
from onward.streams.ledger.array_codec import record_decoder
from onward.streams.ledger.checksum import without_checksum
from onward.streams.programs.program import Program
from onward.testing.ledger import rows
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.spaces import SigmoidScore
from onward.testing.tape import MINUTE_MS
from onward.tests.streams.engine.rounds.stories import (
    HOUR_MS,
    LINE,
    Story,
    announcement,
    as_a_large_model,
    learned,
    limited,
    story,
)
from onward.tests.support.changed_specs import announce, feature, policy
from onward.tests.support.goal_policies import constant
from onward.tests.support.ledgers import cases
from onward.tests.support.named_models import models_in

FIVE = 5 * MINUTE_MS
FOUR = {"low": 25, "best": 45, "middle": 30, "good": 40}


def closed_at(hours):
    """A time at which the watermark has passed the end of a round."""
    return hours * HOUR_MS + FIVE + 1


def with_four(tmp_path, **capacity):
    tape = story(tmp_path, **capacity)
    for name, income in FOUR.items():
        tape.applies_with(name, 10 * MINUTE_MS, income, applicant=f"person {name}")
    return tape


def test_the_best_get_the_places_and_the_others_a_target_score(tmp_path):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1) - 1)
    tape.fold()
    assert tape.places() == {}, "the watermark has not passed the end and the lateness"
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.places() == {"best": True, "good": True, "low": False, "middle": False}
    [closed] = tape.thresholds()
    assert (closed.round, closed.places, closed.applicants, closed.accepted) == (1, 2, 4, 2)
    answers = {answer.application: answer for answer in tape.answers()}
    assert set(answers) == {"low", "middle"}
    for answer in answers.values():
        assert isinstance(answer, Recourse)
        assert (answer.round, answer.target_score, answer.until_round) == (1, closed.goal, 2)
        assert answer.valid_from == format_time(START_MS + HOUR_MS)
        assert answer.expires_at == format_time(START_MS + 2 * HOUR_MS)
        assert 0 < answer.options[0].execution_probability < 1


def test_what_only_works_up_to_a_point_comes_after_what_needs_no_such_end(tmp_path):
    line = SigmoidScore(np.array([0.0, 0.0, 12.0, -12.0]), -2.5)

    def score(X):
        return np.where(X[:, 3] < 0.05, 0.1, line(X))  # who has no debts at all is rejected

    tape = Story(
        PipelineRun(
            {"loan": limited(score=score, overshoot="limit", objective="cost", goal="last_threshold")}, tmp_path
        )
    )
    for number in range(12):
        tape.applies_with(f"{number}", 10 * MINUTE_MS, 34 + number, debts=5)
    for later in range(4):
        tape.tick(closed_at(1) + later)
        tape.fold()
    told = [answer.options for answer in tape.answers() if isinstance(answer, Recourse)]
    ends = [[any(change.at_most is not UNSET for change in option.changes) for option in options] for options in told]
    assert [False, True] in ends
    assert ends == [sorted(own) for own in ends]


@pytest.mark.parametrize("how", ["previous", "applicant"])
@pytest.mark.parametrize(
    ("income", "rivals", "fate"), [(90, 1, "kept"), (90, 3, "broken"), (26, 3, "superseded"), (None, 3, "expired")]
)
def test_who_comes_back_settles_the_promise(tmp_path, how, income, rivals, fate):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    if income is not None:
        earlier = {"previous": "low"} if how == "previous" else {"applicant": "person low"}
        tape.applies_with("again", closed_at(1), income, **earlier)
    for number in range(rivals):
        tape.applies_with(f"rival {number}", closed_at(1), 100)
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.promises() == {"low": fate, "middle": "expired"}
    closed = tape.thresholds()[-1]
    reached = fate in ("kept", "broken")
    assert (closed.returned, closed.reached) == (int(income is not None), int(reached))
    assert closed.coverage.achieved == ({"kept": 1.0, "broken": 0.0}[fate] if reached else None)


def test_a_promise_is_settled_once_and_an_expired_one_counts_no_more(tmp_path):
    tape = with_four(tmp_path)
    tape.tick(closed_at(3))
    tape.applies_with("late", closed_at(3), 99, previous="low")
    tape.applies_with("approved before", closed_at(3), 98, previous="best")
    tape.tick(closed_at(4))
    tape.fold()
    assert tape.promises() == {"low": "expired", "middle": "expired"}
    assert tape.places()["late"]
    assert tape.places()["approved before"]
    assert (tape.thresholds()[-1].newcomers, tape.thresholds()[-1].returned) == (2, 0)


def test_a_promise_holds_for_as_many_rounds_as_the_horizon_says(tmp_path):
    tape = with_four(tmp_path, horizon=3)
    tape.applies_with("again", 3 * HOUR_MS + FIVE, 99, previous="low")
    tape.tick(closed_at(4))
    tape.fold()
    assert tape.promises() == {"low": "kept", "middle": "expired"}
    assert [closed.round for closed in tape.thresholds()] == [1, 2, 3, 4], "rounds go on while promises are open"
    assert [closed.open_promises for closed in tape.thresholds()] == [0, 2, 2, 0]


@pytest.mark.parametrize(("hour", "changes"), [(2, True), (7, False)])
def test_the_goal_counts_on_the_places_of_the_next_round_not_of_a_later_one(tmp_path, hour, changes):
    goals = []
    for places in (2, 50):
        tape = with_four(tmp_path / str(places))
        tape.send("rounds", announcement(hour, places), 11 * MINUTE_MS, "r")
        tape.tick(closed_at(1))
        tape.fold()
        goals.append(tape.thresholds()[0].goal)
    assert (goals[0] != goals[1]) is changes


def test_places_that_are_announced_late_each_time_count_and_those_of_the_spec_do_not(tmp_path):
    """Each round has three places by an event that comes when the round before is closed."""
    found = []
    for places in (1, 50):
        tape = story(tmp_path / str(places), places=places, horizon=2)
        for hour in range(1, 5):
            tape.send("rounds", announcement(hour, 3), closed_at(hour - 1), f"r{hour}")
            for number in range(6):
                tape.applies_with(f"{hour}-{number}", closed_at(hour - 1), 25 + 5 * number + hour)
            tape.tick(closed_at(hour))
        tape.fold()
        found.append([(closed.places, closed.goal) for closed in tape.thresholds()])
    assert [places for places, _ in found[0]] == [3, 3, 3, 3]
    assert found[0] == found[1]


def test_a_round_with_other_places_leaves_no_doubt_of_those_of_the_spec_once_a_round_has_had_these(tmp_path):
    """Of four rounds the second one has six places instead of three. The last one's are announced, or not."""
    goals = []
    for is_announced in (False, True):
        tape = story(tmp_path / str(is_announced), places=3, horizon=2)
        tape.send("rounds", announcement(2, 6), 0, "r2")
        for hour in range(1, 4):
            if is_announced and hour == 3:
                tape.send("rounds", announcement(4, 3), closed_at(2), "r4")
            for number in range(8):
                tape.applies_with(f"{hour}-{number}", closed_at(hour - 1), 25 + 5 * number + hour)
            tape.tick(closed_at(hour))
        tape.fold()
        assert [closed.places for closed in tape.thresholds()] == [3, 6, 3]
        goals.append([closed.goal for closed in tape.thresholds()])
    assert goals[0] == goals[1]


def test_a_calendar_leaves_out_rounds_in_which_nothing_can_happen(tmp_path):
    tape = with_four(tmp_path)
    tape.applies_with("much later", 40 * HOUR_MS - 1, 80)
    tape.tick(closed_at(40))
    tape.fold()
    assert [closed.round for closed in tape.thresholds()] == [1, 2, 40]


def test_who_comes_later_than_lateness_joins_the_next_round(tmp_path):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    tape.applies_with("late", 20 * MINUTE_MS, 99)
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.places()["late"]
    assert [closed.applicants for closed in tape.thresholds()] == [4, 1]


def test_who_comes_at_the_end_of_a_round_belongs_to_it(tmp_path):
    tape = story(tmp_path)
    tape.applies_with("last", HOUR_MS, 90)
    tape.applies_with("next", HOUR_MS + 1, 90)
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.places() == {"last": True}


def test_an_applicant_counts_once_in_a_round(tmp_path):
    tape = with_four(tmp_path)
    tape.applies_with("best again", 11 * MINUTE_MS, 100, applicant="person best")
    tape.tick(closed_at(1))
    tape.fold()
    assert not tape.places()["best again"]
    assert tape.places()["good"]
    [refused] = [answer for answer in tape.answers() if answer.application == "best again"]
    assert isinstance(refused, NoRecourse)
    assert refused.reason == "applied_twice"


def test_an_application_without_a_score_leaves_the_applicant_another_one_in_the_round(tmp_path):
    tape = story(tmp_path, score=lambda X: np.where(X[:, 3] == 1.0, np.nan, LINE(X)))
    tape.applies_with("first", 10 * MINUTE_MS, 90, applicant="ada", debts=10)
    tape.applies_with("second", 11 * MINUTE_MS, 90, applicant="ada", previous="first")
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.places() == {"first": False, "second": True}


@pytest.mark.parametrize(("places", "accepted"), [(0, []), (1, ["best"]), (9, ["best", "good", "middle", "low"])])
def test_an_event_changes_the_places_of_a_round(tmp_path, places, accepted):
    tape = with_four(tmp_path)
    tape.send("rounds", announcement(1, places), 0, "r1")
    tape.tick(closed_at(1))
    tape.fold()
    rejected = [name for name in FOUR if name not in accepted]
    assert tape.places() == {**dict.fromkeys(accepted, True), **dict.fromkeys(rejected, False)}
    assert sorted(answer.application for answer in tape.answers()) == sorted(rejected)
    [closed] = tape.thresholds()
    assert (closed.goal is None) == (not rejected)
    assert closed.threshold == {0: 1.0, 9: 0.0}.get(places, closed.threshold)


def test_scores_that_the_model_does_not_approve_win_no_place(tmp_path):
    tape = story(tmp_path)
    tape.applies_with("below", 1, 5)
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.places() == {"below": False}
    [closed] = tape.thresholds()
    assert closed.threshold == 0.5
    assert closed.goal is not None
    assert closed.goal >= 0.5


def test_equal_scores_are_ordered_by_a_keyed_draw(tmp_path):
    orders = []
    for number, names in enumerate((["a", "b", "c", "d"], ["d", "c", "b", "a"])):
        tape = story(tmp_path / str(number))
        for name in names:
            tape.applies_with(name, 1, 70)
        tape.tick(closed_at(1))
        tape.fold()
        assert sum(tape.places().values()) == 2
        orders.append(tape.places())
    assert orders[0] == orders[1]


def test_announced_rounds_need_no_calendar(tmp_path):
    tape = with_four(tmp_path, round=None)
    tape.tick(10 * HOUR_MS)
    tape.send("rounds", announcement(11, 1), 10 * HOUR_MS, "r1")
    tape.send("rounds", announcement(12, 1), 10 * HOUR_MS, "r2")
    tape.applies_with("again", 11 * HOUR_MS + FIVE, 99, previous="low")
    tape.tick(closed_at(12))
    tape.fold()
    assert [closed.round for closed in tape.thresholds()] == [0, 1]
    assert {answer.expires_at for answer in tape.answers()} == {None}
    assert tape.promises()["low"] == "kept"


@pytest.mark.parametrize(
    ("event", "ms", "reason"),
    [
        (announcement(1, 1), closed_at(1), "round_already_closed"),
        (announcement(1.5, 1), 0, "round_not_in_calendar"),
        (announcement(3, 1), closed_at(3), "round_announced_too_late"),
        (announcement(1, 1, program="nobody"), 0, "unknown_program"),
        (announcement(1, -1), 0, "wrong_type"),
    ],
)
def test_a_round_that_cannot_be_is_a_dead_letter(tmp_path, event, ms, reason):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    tape.fold()
    tape.send("rounds", event, ms, "r")
    tape.fold()
    assert tape.reasons() == [reason]


def test_a_round_may_be_announced_until_its_lateness_is_over(tmp_path):
    tape = with_four(tmp_path)
    tape.send("rounds", announcement(1, 1), HOUR_MS + FIVE, "r")
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.reasons() == []
    assert [closed.places for closed in tape.thresholds()] == [1]


def test_no_round_is_announced_before_one_that_has_ended_and_waits_to_be_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=1))
    tape = with_four(tmp_path, round=None)
    for hour in (1, 3):
        tape.send("rounds", announcement(hour, 1), 0, f"r{hour}")
    tape.tick(closed_at(3))
    tape.send("rounds", announcement(2, 1), 0, "between")
    tape.fold()
    assert tape.thresholds() == [], "the first of the two is still being closed"
    assert tape.reasons() == ["round_already_closed"]


def test_rounds_are_closed_in_their_order_where_nobody_is_in_one_and_the_next_has_ended_too(tmp_path, monkeypatch):
    """Promises wait for the round in between, which is expected only when the one before is closed."""
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=30))
    tape = with_four(tmp_path, horizon=3)
    tape.applies_with("later", 2 * HOUR_MS + 1, 90)
    for number in range(200):
        tape.tick(closed_at(3) + number)
    tape.fold()
    assert [closed.round for closed in tape.thresholds()] == [1, 2, 3]


def test_programs_whose_rounds_close_at_the_same_time_are_served_in_one_order_before_and_after_a_restart(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=50))
    tapes = []
    for name in ("whole", "cut"):
        programs = {program: limited({}, name=program) for program in ("a", "b")}
        tape = Story(PipelineRun(programs, tmp_path / name))
        for program in ("b", "a"):
            for number in range(4):
                features = {"region": "north", "income": 20.0 + number, "debts": 2}
                event = Application(program, f"p{number}", features)
                tape.send("applications", event, MINUTE_MS, f"{program}{number}")
        for number in range(60):
            tape.tick(closed_at(1) + number)
        tape.fold(parts=[[record] for record in tape.journal] if name == "cut" else None)
        tapes.append(tape)
    assert len(tapes[0].thresholds()) == 2
    assert tapes[0].run.outputs() == tapes[1].run.outputs()


def test_a_program_without_rounds_has_none(tmp_path):
    from onward.testing.tape import tape as plain

    tape = plain(tmp_path)
    tape.send("rounds", announcement(1, 1), 0, "r")
    tape.fold()
    assert tape.reasons() == ["round_not_expected"]


def test_features_that_cannot_be_read_are_refused_on_arrival(tmp_path):
    tape = story(tmp_path)
    tape.applies("odd", features={"region": "north", "income": 500.0, "debts": 1})
    tape.tick(closed_at(1))
    tape.fold()
    assert tape.places() == {}
    assert tape.reasons() == ["out_of_bounds"]


def test_a_target_out_of_reach_is_a_typed_none(tmp_path):
    tape = Story(
        PipelineRun({"loan": limited({"places": 1}, goal="fixed", goal_parameters={"score": 0.99995})}, tmp_path)
    )
    tape.applies_with("best", 1, 100, debts=0)
    tape.applies_with("hopeless", 1, 99, debts=1)
    tape.tick(closed_at(1))
    tape.fold()
    [answer] = tape.answers()
    assert isinstance(answer, NoRecourse)
    assert answer.target_score == tape.thresholds()[0].goal
    assert "; the best reaches 0." in str(answer.scores)
    assert str(answer.scores).startswith("no allowed change of ")
    assert "We looked at what will probably win a place in the next rounds." in answer.detail
    assert not re.search(r"[0-9]", answer.detail)
    assert str(answer).startswith("hopeless: no option that a place can be promised for: We looked for changes ")


def decided_outside(tmp_path, approved, at_ms=20 * MINUTE_MS):
    tape = story(tmp_path, decisions="external")
    for name, income in FOUR.items():
        tape.applies_with(name, 10 * MINUTE_MS, income)
        tape.decides(name, at_ms, name in approved)
    return tape


@pytest.mark.parametrize(
    ("approved", "lowest"),
    [(("best", "good"), "good"), (("best", "good", "low"), "good"), (("low",), "low"), ((), None)],
)
def test_a_threshold_is_estimated_from_decisions_that_others_make(tmp_path, approved, lowest):
    tape = decided_outside(tmp_path, approved)
    tape.tick(closed_at(1))
    ledger = tape.fold()
    assert tape.places() == {}
    [closed] = tape.thresholds()
    scores = {case.key.application: case.score for case in cases(ledger)}
    assert closed.threshold == (1.0 if lowest is None else scores[lowest])
    assert closed.accepted == len(approved)
    assert {answer.application for answer in tape.answers()} == set(FOUR) - set(approved)


def test_a_season_gives_no_places_where_another_system_does(tmp_path):
    tape = story(tmp_path, decisions="external", season=2)
    for number, approved in enumerate(((), ("best",), tuple(FOUR))):
        for name, income in FOUR.items():
            tape.applies_with(f"{name} {number}", closed_at(number), income)
            tape.decides(f"{name} {number}", closed_at(number) + MINUTE_MS, name in approved)
    tape.tick(closed_at(3))
    tape.fold()
    assert [(closed.places, closed.accepted) for closed in tape.thresholds()] == [(2, 0), (2, 1), (2, 4)]


def test_who_is_rejected_with_the_score_of_somebody_approved_contradicts_a_threshold_there():
    scores, approved = np.array([0.4, 0.6, 0.6, 0.8]), np.array([False, True, False, True])
    assert ranking_of_decisions(scores, approved, ~approved).threshold == 0.8


def test_the_goal_counts_on_as_many_places_as_others_give_whatever_the_spec_says(tmp_path):
    """Two of six are approved each hour. The spec says one place, or fifty."""
    found = []
    for places in (1, 50):
        tape = story(tmp_path / str(places), decisions="external", places=places, horizon=2)
        for hour in range(1, 6):
            for number in range(6):
                name = f"{hour}-{number}"
                tape.applies_with(name, closed_at(hour - 1), 25 + 5 * number + hour)
                tape.decides(name, closed_at(hour - 1) + 1, number > 3)
            tape.tick(closed_at(hour))
        tape.fold()
        found.append([closed.goal for closed in tape.thresholds()])
    assert len(found[0]) == 5
    assert found[0] == found[1]


def kept_of_rounds(ledger):
    """What the ledger holds of the rounds of the only program."""
    [(body,)] = rows(ledger, "SELECT body FROM rounds")
    return record_decoder(ProgramRounds)(body)


def promised_by(ledger):
    """The scores that are promised, in the order of the applications."""
    bodies = rows(ledger, "SELECT body FROM promised_scores ORDER BY application")
    return [msgspec.msgpack.decode(without_checksum(body), type=PromisedScore) for (body,) in bodies]


def learned_by(ledger):
    """The arrays that the rounds of the only program have taught."""
    return kept_of_rounds(ledger).learned


def test_a_promise_names_no_round_that_was_announced_without_places(tmp_path):
    tape = with_four(tmp_path, horizon=2)
    for hour in (2, 4):
        tape.send("rounds", announcement(hour, 0), 11 * MINUTE_MS, f"r{hour}")
    tape.tick(closed_at(1))
    tape.fold()
    promised = [answer for answer in tape.answers() if answer.until_round is not UNSET]
    assert len(promised) == 2
    for answer in promised:
        assert (answer.until_round, answer.rounds_without_places) == (5, (2, 4))
        assert answer.valid_from == format_time(START_MS + 2 * HOUR_MS)
        assert answer.expires_at == format_time(START_MS + 5 * HOUR_MS)


def test_who_comes_back_in_a_pause_with_the_promised_score_keeps_the_promise(tmp_path):
    tape = with_four(tmp_path, horizon=1)
    for hour in (2, 3):
        tape.send("rounds", announcement(hour, 0), 11 * MINUTE_MS, f"r{hour}")
    tape.tick(closed_at(1))
    tape.applies_with("early", closed_at(1), 90, previous="low")
    tape.applies_with("too low", closed_at(1), 27, previous="middle")
    tape.tick(closed_at(3))
    tape.applies_with("again", closed_at(3), 90, previous="low")
    tape.tick(closed_at(4))
    tape.fold()
    told = {answer.application: answer for answer in tape.answers()}
    early, low = told["early"], told["low"]
    assert isinstance(early, NoRecourse)
    assert (early.reason, early.target_score, early.until_round) == ("apply_again", low.target_score, 4)
    assert (low.rounds_without_places, early.rounds_without_places) == ((2, 3), (3,))
    assert early.valid_from == low.valid_from == format_time(START_MS + 3 * HOUR_MS)
    assert "by September" not in early.detail, "the round ends on the day on which it begins"
    assert early.detail.endswith("Do not apply before September 22, 2026: there are no places until then.")
    assert (tape.promises()["low"], tape.promises()["middle"]) == ("kept", "superseded")
    assert [(closed.places, closed.returned) for closed in tape.thresholds()] == [(2, 0), (0, 0), (0, 0), (2, 1)]
    # Of "low", who came too early, and of those who were turned down in pauses; "middle" has another one by then.
    assert [closed.open_promises for closed in tape.thresholds()] == [0, 1, 2, 0]


def test_in_a_season_a_pause_is_expected_again(tmp_path):
    tape = with_four(tmp_path, horizon=1, season=2)
    tape.send("rounds", announcement(2, 0), 11 * MINUTE_MS, "r")
    tape.tick(closed_at(2))
    for name, income in FOUR.items():
        tape.applies_with(f"{name} again", closed_at(2), income)
    tape.tick(closed_at(3))
    tape.fold()
    answer = next(answer for answer in tape.answers() if answer.application == "low again")
    assert (answer.until_round, answer.rounds_without_places) == (5, (4,))


@pytest.mark.parametrize(("announced", "places"), [({}, [2, 0, 3, 0, 3]), ({4: 1}, [2, 0, 3, 1, 3])])
def test_in_a_season_a_round_has_the_places_that_people_were_told_unless_somebody_announces_others(
    tmp_path, announced, places
):
    tape = story(tmp_path, season=2)
    for number, given in {2: 0, 3: 3, **announced}.items():
        tape.send("rounds", announcement(number, given), 11 * MINUTE_MS, f"r{number}")
    for number in range(5):
        for name, income in FOUR.items():
            tape.applies_with(f"{name} {number}", closed_at(number), income)
    tape.tick(closed_at(5))
    tape.fold()
    assert [closed.places for closed in tape.thresholds()] == places
    assert [closed.accepted for closed in tape.thresholds()] == places


def test_a_round_without_places_tells_nothing_of_the_score_that_is_needed(tmp_path):
    tape = with_four(tmp_path, horizon=3)
    tape.send("rounds", announcement(2, 0), 0, "r")
    tape.applies_with("later", HOUR_MS + 1, 90)
    tape.tick(closed_at(2))
    ledger = tape.fold()
    first, second = tape.thresholds()
    assert (second.places, second.applicants, second.threshold) == (0, 1, 1.0)
    assert kept_of_rounds(ledger).threshold == first.threshold
    assert learned_by(ledger)["threshold_drift"]["count"] == [1]


def test_who_comes_back_with_less_and_finds_a_place_keeps_the_promise_and_does_not_count_as_having_reached(tmp_path):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    tape.applies_with("as told", closed_at(1), 90, previous="low")
    tape.applies_with("less", closed_at(1), 31, previous="middle")
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.places()["less"]
    assert tape.promises() == {"low": "kept", "middle": "kept"}
    closed = tape.thresholds()[-1]
    assert (closed.returned, closed.reached, closed.coverage.achieved) == (2, 1, 1.0)


def test_an_open_promise_is_expected_also_after_a_round_in_which_nobody_was_turned_down(tmp_path):
    """Somebody comes back two rounds after their own; between them is a round with places for all."""
    tape = with_four(tmp_path, horizon=3)
    tape.tick(closed_at(1))
    tape.applies_with("between", closed_at(1), 60)
    tape.tick(closed_at(2))
    expected = learned_by(tape.fold())["goal"]["expected"]
    tape.applies_with("again", closed_at(2), 99, previous="low")
    tape.tick(closed_at(3))
    learned = learned_by(tape.fold())["goal"]
    assert (learned["returned"].round(2).tolist(), expected[0], expected[2]) == ([0.0, 1.0, 0.0], 0.0, 0.0)
    assert 0.5 < expected[1] < 2.0
    assert learned["predicted"][1] == pytest.approx(expected[1])


def test_who_is_decided_after_the_end_counts_in_the_next_round(tmp_path):
    tape = decided_outside(tmp_path, ["best"], at_ms=HOUR_MS + 1)
    tape.decides("best", HOUR_MS + 2, id="second")
    tape.tick(closed_at(2))
    tape.fold()
    assert [(closed.round, closed.applicants) for closed in tape.thresholds()] == [(2, 4)]
    assert tape.reasons() == ["already_decided"]
    assert len(tape.answers()) == 3


def announces_a_harder_model(tape, monkeypatch, ms):
    program = tape.run.programs["loan"]
    harder = SimpleNamespace(score=SigmoidScore(np.array([0.0, 0.0, 12.0, -2.0]), -4.5))
    bundle = replace(program.bundle, version="v2", manifest_sha256="3" * 64, model=harder)
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: bundle)
    tape.send("models", Model("loan", "v2", "memory", "3" * 64), ms, "m")


def test_after_a_new_model_the_promised_options_say_what_must_be_reached(tmp_path, monkeypatch):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    tape.fold()
    [answer] = [answer for answer in tape.answers() if answer.application == "low"]
    [income] = [change.target for change in answer.options[0].changes if change.feature == "income"]
    announces_a_harder_model(tape, monkeypatch, closed_at(1))
    tape.applies_with("as told", closed_at(1), income, previous="low")
    tape.applies_with("less", closed_at(1), income - 5, previous="middle")
    for number in range(2):
        tape.applies_with(f"rival {number}", closed_at(1), 100)
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.promises() == {"low": "broken", "middle": "superseded"}
    named = models_in(tape.run)
    assert {(version, digest) for _, version, digest in named} == {("v1", "1" * 64), ("v2", "3" * 64)}
    assert ("promises", "v2", "3" * 64) in named


def test_a_round_that_has_ended_is_closed_under_the_model_that_scored_it(tmp_path, monkeypatch):
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=1))
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    announces_a_harder_model(tape, monkeypatch, closed_at(1))
    tape.fold()
    assert len(tape.places()) == 4
    assert {answer.model for answer in tape.answers()} == {"v1"}
    assert [closed.model for closed in tape.thresholds()] == ["v1"]


def test_a_round_that_has_ended_is_closed_under_the_spec_that_it_had(tmp_path, monkeypatch):
    monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=1))
    tape = with_four(tmp_path)
    before = tape.run.programs["loan"]
    tape.tick(closed_at(1))
    announce(tape, policy(options=1), closed_at(1))
    tape.fold()
    assert len(tape.places()) == 4
    assert {answer.spec for answer in tape.answers()} == {before.sha256}


def test_who_waits_for_the_end_of_a_round_is_placed_and_answered_under_the_spec_of_then(tmp_path):
    tape = with_four(tmp_path)
    before = tape.run.programs["loan"].spec
    changed = msgspec.structs.replace(before.capacity, places=1)
    announce(tape, lambda spec: msgspec.structs.replace(policy(options=1)(spec), capacity=changed), 30 * MINUTE_MS)
    tape.tick(closed_at(1))
    tape.fold()
    assert [name for name, approved in tape.places().items() if approved] == ["best"]
    assert {len(answer.options) for answer in tape.answers()} == {1}


def test_a_changed_spec_leaves_the_goal_what_it_has_learned(tmp_path):
    found = []
    for name in ("same", "changed"):
        tape = with_four(tmp_path / name, horizon=2)
        tape.tick(closed_at(1))
        if name == "changed":
            announce(tape, feature("income", unit="EUR"), closed_at(1))
        for number, income in enumerate(FOUR.values()):
            tape.applies_with(f"later {number}", closed_at(1), income + 5)
        tape.tick(closed_at(2))
        tape.fold()
        found.append(tape.thresholds())
    assert len(found[0]) == 2
    assert found[0] == found[1]


def expected_goal(tape, incomes, action):
    """What a policy that always does the same says of newcomers with these incomes, with two debts."""
    codec, score = tape.run.programs["loan"].codec, tape.run.programs["loan"].bundle.model.score
    rows = codec.encode_many([{"region": "north", "income": float(income), "debts": 2} for income in incomes])
    return bounded_sigmoid(bounded_logit(score(rows)).mean() + SPAN * np.tanh(action))


def test_a_learned_goal_says_what_its_policy_says_of_the_newcomers(tmp_path):
    tape = Story(PipelineRun({"loan": learned(constant(0.9))}, tmp_path))
    for name, income in FOUR.items():
        tape.applies_with(name, 10 * MINUTE_MS, income)
    tape.tick(closed_at(1))
    tape.fold()
    [closed] = tape.thresholds()
    assert closed.goal == pytest.approx(expected_goal(tape, FOUR.values(), 0.9))
    assert {answer.target_score for answer in tape.answers()} == {closed.goal}


def test_the_policy_of_a_new_model_says_the_goals_of_the_rounds_after_it(tmp_path, monkeypatch):
    program = learned(constant(0.9))
    other = replace(program.bundle, version="v2", manifest_sha256="3" * 64, goal_policy=goal_policy(constant(1.5)))
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: other)
    tape = Story(PipelineRun({"loan": program}, tmp_path))
    for number, (name, income) in enumerate(FOUR.items()):
        tape.applies_with(name, MINUTE_MS, income)
        tape.applies_with(f"later {name}", HOUR_MS + 1 + number, income)
    tape.tick(closed_at(1))
    tape.send("models", Model("loan", "v2", "memory", "3" * 64), closed_at(1), "m")
    tape.tick(closed_at(2))
    tape.fold()
    goals = [closed.goal for closed in tape.thresholds()]
    assert goals == pytest.approx([expected_goal(tape, FOUR.values(), action) for action in (0.9, 1.5)])
    assert [closed.model_sha256 for closed in tape.thresholds()] == ["1" * 64, "3" * 64]
    decisions = tape.run.events("model-decisions", ModelDecision)
    assert {(told.model, told.model_sha256) for told in decisions} == {("v1", "1" * 64), ("v2", "3" * 64)}


def test_under_a_large_model_other_entries_wait_until_they_have_the_units_of_a_person(tmp_path):
    tape = Story(PipelineRun({"loan": limited(score=as_a_large_model, goal="last_threshold")}, tmp_path))
    for number in range(40):
        tape.applies_with(f"a{number}", MINUTE_MS, 20 + number)
    tape.tick(closed_at(1))
    tape.fold()
    answered = len(tape.places())
    assert 0 < answered < 20
    unknown = Outcome("loan", "unknown", "improved")
    others = [tape.sender.record("outcomes", unknown, time_ms=START_MS, id=f"o{number}") for number in range(40)]
    tape.tick(closed_at(1) + 1)
    asyncio.run(tape.run.ingest(others))
    tape.fold()
    people = (CLOSING.budget.tick + len(others) * CLOSING.budget.other) / closing.LARGE_MODEL_UNITS
    assert len(tape.places()) - answered == pytest.approx(people, abs=1)


def test_who_has_the_next_goal_already_is_told_to_apply_again_and_the_step_is_kept(tmp_path):
    program = limited(goal="fixed", goal_parameters={"score": 0.6})
    tape = Story(PipelineRun({"loan": program}, tmp_path))
    tape.send("rounds", announcement(1, 0), 0, "r")
    tape.applies_with("good", MINUTE_MS, 60)
    tape.tick(closed_at(1))
    ledger = tape.fold()
    [answer] = tape.answers()
    assert (answer.reason, answer.step) == ("apply_again", 0)
    assert (answer.until_round, answer.valid_from) == (2, format_time(START_MS + HOUR_MS))
    assert str(answer).startswith("good: nothing need change until 2026-09-21 16:13 UTC: ")
    assert [promise.success for promise in promised_by(ledger)] == [1.0]
    assert rows(ledger, "SELECT step FROM shards") == [(1,)]


@pytest.mark.parametrize(("end", "day"), [("00", "September 23"), ("10", "September 23"), ("23", "September 22")])
def test_the_day_by_which_to_apply_again_is_over_before_the_promise_is(tmp_path, end, day):
    daily = {"round": "P1D", "start": f"2026-01-05T{end}:00:00Z", "horizon": 2}
    tape = Story(PipelineRun({"loan": limited(daily, goal="fixed", goal_parameters={"score": 0.5})}, tmp_path))
    first = round((int(end) * HOUR_MS - START_MS) % (24 * HOUR_MS))
    tape.send("rounds", announcement(first / HOUR_MS, 0), 0, "r")
    tape.applies_with("good", MINUTE_MS, 90)
    tape.tick(first + FIVE + 1)
    tape.fold()
    [answer] = tape.answers()
    assert answer.expires_at == format_time(START_MS + first + 48 * HOUR_MS)
    assert f"Apply again as you are, by {day}, 2026." in answer.detail


def test_who_has_exactly_the_next_goal_is_told_how_to_be_above_it(tmp_path):
    program = limited()
    own = LINE(program.codec.encode_many([{"region": "north", "income": 60.0, "debts": 2}])).item()
    tape = Story(PipelineRun({"loan": limited(goal="fixed", goal_parameters={"score": own})}, tmp_path))
    tape.send("rounds", announcement(1, 0), 0, "r")
    tape.applies_with("equal", MINUTE_MS, 60)
    tape.tick(closed_at(1))
    tape.fold()
    [answer] = tape.answers()
    assert (type(answer), answer.target_score) == (Recourse, own)


def test_a_promise_holds_the_most_probable_option_and_who_is_placed_is_so_since_the_end_of_the_round(tmp_path):
    score = SigmoidScore(np.array([0.0, 0.0, 6.0, -6.0]), 0.0)
    tape = Story(PipelineRun({"loan": limited(score=score, goal="fixed", goal_parameters={"score": 0.9})}, tmp_path))
    for number in range(4):
        tape.applies_with(f"a{number}", MINUTE_MS, 20.0 + 10 * number, debts=5)
    tape.tick(closed_at(1))
    ledger = tape.fold()
    answers = sorted(tape.answers(), key=lambda answer: answer.application)
    chances = [[option.execution_probability for option in answer.options] for answer in answers]
    assert any(len(set(chance)) > 1 for chance in chances)
    assert [promise.success for promise in promised_by(ledger)] == [max(chance) for chance in chances]
    assert {case.time_ms for case in cases(ledger)} == {START_MS + HOUR_MS}


def test_who_gets_no_options_takes_a_step_of_the_learner_all_the_same(tmp_path, monkeypatch):
    """One option of several is drawn by the step. Answered one by one, people are told what they are told together."""
    found, score = [], SigmoidScore(np.array([0.0, 0.0, 6.0, -6.0]), 0.0)
    for units in (1000, 1):
        monkeypatch.setattr(CLOSING, "budget", CLOSING.budget._replace(tick=units))
        program = limited(score=score, goal="fixed", goal_parameters={"score": 0.9}, options=1, exploration=0.5)
        tape = Story(PipelineRun({"loan": program}, tmp_path / str(units)))
        tape.send("rounds", announcement(1, 0), 0, "r")
        for number in range(12):
            applicant = f"person {number - number % 3 // 2}"  # every third has applied before
            tape.applies_with(f"a{number:02}", MINUTE_MS, 20.0 + 2 * number, applicant, debts=5)
        for number in range(40):
            tape.tick(closed_at(1) + number)
        tape.fold()
        found.append([(answer.application, answer.step, str(answer)) for answer in tape.answers()])
    assert [step for _, step, _ in found[0]] == list(range(12))
    assert {words for words in ("income", "debts") for _, _, told in found[0] if words in told} == {"income", "debts"}
    assert found[0] == found[1]


def test_a_promise_counts_for_one_application_of_a_person(tmp_path):
    tape = with_four(tmp_path)
    tape.tick(closed_at(1))
    tape.applies_with("first", closed_at(1), 90, previous="low")
    tape.applies_with("second", closed_at(1), 90, previous="low")
    tape.tick(closed_at(2))
    tape.fold()
    assert tape.promises() == {"low": "kept", "middle": "expired"}
    closed = tape.thresholds()[-1]
    assert (closed.newcomers, closed.returned, closed.reached) == (0, 1, 1)
