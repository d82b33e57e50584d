"""Options are promised, kept, broken by a new model or honoured, and expire."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from onward.schemas.events import Application
from onward.streams.engine.promises.promised_options import rows_of
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.program import Program
from onward.testing.ledger import rows
from onward.tests.streams.engine.promises import stories
from onward.tests.streams.engine.promises.stories import (
    BIAS,
    HOUR_MS,
    STRICTER,
    digest_of,
    open_recourses,
    promising,
    record_of,
    score_of,
    small_pieces,
    story,
)
from onward.tests.support.changed_specs import announce, feature, promise
from onward.tests.support.named_models import models_in


@pytest.fixture
def tape(tmp_path, monkeypatch):
    return story(tmp_path, monkeypatch)


def target(recourse, option, feature):
    """What an option asks of a feature; the person's own value where it asks nothing."""
    changes = {change.feature: change.target for change in recourse.options[option].changes}
    return changes.get(feature, {"income": 30.0, "debts": 4}[feature])


def comes_back(tape, name, hours, option, previous="a", **other):
    """Somebody comes back who has done what an option asks."""
    tape.fold("first")
    recourse = tape.recourses()[previous]
    asked = {feature: target(recourse, option, feature) for feature in ("income", "debts")}
    tape.applies_with(name, hours, previous=previous, **{**asked, **other})


def test_an_option_is_open_with_its_certificate_until_its_time_is_over(tape):
    tape.applies_with("a", 0)
    tape.fold()
    recourse = tape.recourses()["a"]
    assert len(recourse.options) == 2
    assert [option.status for option in recourse.options] == ["open", "open"]
    for option in recourse.options:
        assert option.promise["radius"] == 0.1
        assert option.promise["margin"] > 0
        assert option.promise["alpha_max"] > 0.1
    assert recourse.expires_at.startswith("2026-09-22T00:13")
    tape.tick(11 * HOUR_MS)
    tape.fold()
    assert [(event.status, event.options) for event in tape.ends()] == [("expired", ("1", "2"))]


def test_who_did_what_was_asked_is_approved_and_the_promise_kept(tape):
    tape.applies_with("a", 0)
    comes_back(tape, "b", 4, 1)
    tape.tick(16 * HOUR_MS)
    tape.fold()
    kept, superseded = tape.ends()
    assert (kept.status, kept.options, kept.by, kept.reason) == ("kept", ("2",), "b", "approved")
    assert (superseded.status, superseded.options, superseded.reason) == ("superseded", ("1",), "approved")
    assert "b" not in tape.recourses()


@pytest.mark.parametrize(
    ("more", "ended"),
    [
        ({"income": 1.0}, "kept"),
        ({"debts": -1}, "kept"),
        ({"income": -1.0}, "superseded"),
        ({"debts": 1}, "superseded"),
    ],
)
def test_who_did_more_than_was_asked_did_it_and_who_did_one_step_less_did_not(tmp_path, monkeypatch, more, ended):
    # The person of the first option is asked for income alone, the one of the second for fewer debts alone.
    option = 0 if "income" in more else 1
    tape = story(tmp_path, monkeypatch)
    tape.applies_with("a", 0)
    tape.fold("first")
    [change] = tape.recourses()["a"].options[option].changes
    assert change.feature in more
    comes_back(tape, "b", 4, option, **{change.feature: change.target + more[change.feature]})
    tape.fold()
    assert next(event.status for event in tape.ends() if str(option + 1) in event.options) == ended


def test_who_comes_back_without_having_done_it_gets_a_new_answer(tape):
    tape.applies_with("a", 0, applicant="ada")
    tape.applies_with("b", 4, income=31.0, applicant="ada")
    tape.fold()
    [superseded] = tape.ends()
    assert (superseded.application, superseded.status, superseded.reason) == ("a", "superseded", "answered")
    assert set(tape.recourses()) == {"a", "b"}


def test_who_is_turned_away_because_of_other_features_has_a_broken_promise(tape):
    tape.applies_with("a", 0)
    comes_back(tape, "b", 4, 0, debts=10, income=60.0)
    tape.fold()
    assert next((event.status, event.reason) for event in tape.ends()) == ("broken", "other_features")


def test_where_the_new_model_accepts_one_option_that_was_done_other_features_are_the_reason(tmp_path, monkeypatch):
    """It rejects the other option, and both models reject people of the south."""
    monkeypatch.setattr(stories, "WEIGHTS", np.array([0.0, -9.0, 6.0, -6.0]))
    tape = story(tmp_path, monkeypatch, promising({"grandfather": True}), biases={"v4": -1.2})
    tape.applies_with("a", 0, income=80.0, debts=8)
    tape.new_model("v4", 2)
    tape.passes(3)
    tape.fold("first")
    assert [(look.honoured, look.accepted) for look in tape.looks()] == [(1, 1)]
    (more,), (fewer,) = (option.changes for option in tape.recourses()["a"].options)
    asked = {change.feature: change.target for change in (more, fewer)}
    tape.applies_with("b", 4, previous="a", region="south", **asked)
    tape.fold()
    [broken] = tape.ends()
    assert (broken.status, broken.options, broken.reason) == ("broken", ("1", "2"), "other_features")


def test_a_name_that_is_used_again_supersedes_what_it_was_promised_before(tmp_path, monkeypatch):
    """The case is forgotten a month after its outcome, and the options are open for two."""
    tape, month = story(tmp_path, monkeypatch, promising({"valid_for": "P60D"})), 32 * 24
    tape.applies_with("a", -month)
    tape.outcome("a", (1 - month) * HOUR_MS, option="1")
    tape.tick(0)
    features = {"region": "north", "income": 30.0, "debts": 4}
    tape.send("applications", Application("loan", "a", features, "person a"), 0, "again")
    ledger = tape.fold()
    [superseded], [recourse] = tape.ends(), open_recourses(ledger)
    assert (superseded.status, superseded.options, superseded.by) == ("superseded", ("1", "2"), "a")
    assert (recourse.step, len(recourse.options), record_of(ledger).open) == (1, 2, {0: 2})
    tape.tick(month * HOUR_MS)
    tape.fold()
    assert len(tape.ends()) == 1


def test_another_persons_application_settles_nothing(tape):
    tape.applies_with("a", 0, applicant="ada")
    tape.applies_with("b", 1, income=99.0, applicant="bob", previous="a")
    tape.fold()
    assert tape.ends() == []


def test_a_return_settles_the_promise_to_its_applicant_whatever_application_it_names(tape):
    tape.applies_with("a", 0, applicant=None)
    tape.applies_with("c", 1, applicant="ada")
    tape.applies_with("d", 2, applicant="ada", previous="a")
    tape.applies_with("e", 3, applicant="ada")
    tape.applies_with("f", 4, applicant="ada", previous="c")
    recourses = open_recourses(tape.fold())
    assert [(event.application, event.by) for event in tape.ends()] == [("c", "d"), ("d", "e"), ("e", "f")]
    assert [recourse.key.application for recourse in recourses] == ["a", "f"]


def test_an_external_decision_settles_the_promise(tmp_path, monkeypatch):
    tape = story(tmp_path, monkeypatch, promising(decisions="external"))
    tape.applies_with("a", 0)
    tape.decides("a", 1)
    comes_back(tape, "b", 4, 0)
    tape.decides("b", 5 * HOUR_MS)
    tape.fold()
    assert next((event.status, event.reason) for event in tape.ends()) == ("broken", "decision")


def test_a_new_model_breaks_what_it_rejects_and_a_revised_recourse_replaces_it(tape):
    for number, income in enumerate((20.0, 30.0, 40.0)):
        tape.applies_with(f"p{number}", 0, income=income)
    tape.new_model("v4", 2)
    tape.fold()
    first, revised = tape.recourses(), {one.application: one for one in tape.revisions()}
    broken = {event.application: event for event in tape.ends()}
    assert set(broken) == set(first) == set(revised)
    [look] = tape.looks()
    assert (look.open, look.broken, look.cleared, look.accepted, look.left) == (6, 6, 0, 0, 0)
    assert look.replaced == sum(len(event.replaced) for event in broken.values())
    for name, event in broken.items():
        assert (event.status, event.reason, event.model) == ("broken", "model", "v4")
        assert revised[name].model == "v4"
        assert tuple(option.id for option in revised[name].options) == event.replaced
        assert revised[name].step == first[name].step
        arms = {option.id: option.candidate for option in first[name].options}
        assert all(arms[option.id] == option.candidate for option in revised[name].options)
        assert len({option.candidate for option in revised[name].options}) == len(revised[name].options)
    comes_back_to_revision(tape, revised["p1"])


@pytest.mark.parametrize("result", ["improved", "not_improved"])
def test_where_its_own_features_cannot_reach_the_score_others_stand_for_an_option(tmp_path, monkeypatch, result):
    """What comes of it is told with its arm. The learner did not pick it, and learns as if nobody had seen it."""
    learned = {}
    for told in (result, "unseen"):
        tape = story(tmp_path / told, monkeypatch)
        tape.applies_with("a", 0, income=80.0, debts=8)
        tape.new_model("v4", 2)
        tape.outcome("a", 3 * HOUR_MS, told, option="1")
        ledger = tape.fold()
        [revised], [reward] = tape.revisions(), tape.rewards()
        assert [(option.id, option.candidate) for option in tape.recourses()["a"].options] == [("1", "0"), ("2", "1")]
        assert [(option.id, option.candidate) for option in revised.options] == [("1", "2"), ("2", "1")]
        assert (reward.option, reward.candidate) == ("1", "2")
        learned[told] = rows(ledger, "SELECT learner FROM shards")
    assert learned[result] == learned["unseen"]


def test_an_option_keeps_the_arm_of_its_revision_when_another_is_revised_later(tmp_path, monkeypatch):
    """The second model rejects the other option, whose features may not change any more."""
    monkeypatch.setattr(stories, "WEIGHTS", np.array([0.0, 1.0, 6.0, -6.0]))
    tape = story(tmp_path, monkeypatch, biases={"v4": -1.2, "v5": -1.25})
    tape.applies_with("a", 0, income=80.0, debts=8)
    tape.new_model("v4", 1)
    announce(tape, feature("region", mutable="any"), 2 * HOUR_MS)
    announce(tape, feature("debts", mutable="none"), 2 * HOUR_MS)
    tape.new_model("v5", 3)
    tape.outcome("a", 4 * HOUR_MS, option="1")
    tape.fold()
    revised, [reward] = tape.revisions(), tape.rewards()
    moved = [(option.id, option.candidate) for one in revised for option in one.options]
    assert moved == [("1", "2"), ("2", "4")]
    assert (reward.option, reward.candidate) == ("1", "2")


@pytest.mark.parametrize(("income", "standing"), [(80.0, [("1", 2)]), (95.0, [])])
def test_no_other_option_of_the_person_stands_for_a_broken_one(tmp_path, monkeypatch, income, standing):
    """More income alone reaches the score no more, and fewer debts alone still do: these the person is told already.

    Both together are possible for the first person alone.
    """
    tape = story(tmp_path, monkeypatch, biases={"v4": -1.2})
    tape.applies_with("a", 0, income=income, debts=8)
    tape.new_model("v4", 2)
    [recourse] = open_recourses(tape.fold())
    revised = [(option.id, int(option.candidate)) for one in tape.revisions() for option in one.options]
    assert [(option.id, option.arm) for option in recourse.options] == [*standing, ("2", 1)]
    assert revised == standing


def test_nothing_stands_for_the_broken_options_of_a_person_whom_the_new_model_approves(tape, monkeypatch):
    """It holds income against people, and debts for them."""
    bundle = tape.run.programs["loan"].bundle
    turned = SimpleNamespace(score=LogisticScore(-stories.WEIGHTS, 0.0))
    other = replace(bundle, version="v2", manifest_sha256=digest_of("v2"), model=turned)
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: other)
    tape.applies_with("a", 0)
    tape.new_model("v2", 2)
    ledger = tape.fold()
    [broken] = tape.ends()
    assert (broken.status, broken.options, broken.replaced) == ("broken", ("1", "2"), ())
    assert (tape.revisions(), open_recourses(ledger)) == ([], [])


def test_what_is_honoured_is_asked_about_once(tmp_path, monkeypatch):
    tape = story(tmp_path, monkeypatch, promising({"grandfather": True}))
    tape.applies_with("a", 0)
    for hours, version in enumerate(("v4", "v3", "v5"), 1):
        tape.new_model(version, hours)
        tape.passes(hours + 0.5)
    tape.fold()
    assert [(look.open, look.honoured, look.accepted) for look in tape.looks()] == [(2, 2, 0), (2, 0, 0), (2, 0, 0)]


def test_what_is_honoured_counts_as_accepted_no_more(tmp_path, monkeypatch):
    """People of whom one option is honoured, and another is still asked about; the last model is the first again."""
    tape = story(tmp_path, monkeypatch, promising({"grandfather": True, "radius": 0.03}))
    for number in range(30):
        tape.applies_with(f"p{number}", 0, income=20.0 + number)
    tape.new_model("v3", 1)
    tape.passes(1.5)
    people = open_recourses(tape.fold("first"))
    honoured = {each.key: sum(option.honoured for option in each.options) for each in people}
    assert any(0 < honoured[each.key] < len(each.options) for each in people)
    tape.new_model("v5", 2)
    tape.passes(2.5)
    path = record_of(tape.fold()).path
    [first, second] = tape.looks()
    looked_at = [each for each in people if each.path_limit <= path]
    assert first.honoured == sum(honoured.values())
    assert second.accepted == sum(len(each.options) - honoured[each.key] for each in looked_at) > 10
    assert second.honoured == 0


def comes_back_to_revision(tape, revised):
    """The revised option is promised in its turn."""
    asked = {change.feature: change.target for change in revised.options[0].changes}
    tape.applies_with("again", 3, previous="p1", **{"income": 30.0, "debts": 4, **asked})
    tape.fold()
    kept = [event for event in tape.ends() if event.status == "kept"]
    assert [(event.application, event.options) for event in kept] == [("p1", (revised.options[0].id,))]


def test_a_revised_recourse_holds_as_long_as_a_first_one(tape):
    """The model came after two hours: what the person did before is over after twelve, and not after ten."""
    tape.applies_with("a", 0)
    tape.applies_with("c", 0)
    tape.new_model("v4", 2)
    tape.tick(round(11.5 * HOUR_MS))
    tape.fold("first")
    revised = {recourse.application: recourse for recourse in tape.revisions()}
    assert {recourse.expires_at[:16] for recourse in revised.values()} == {"2026-09-22T02:13"}
    asked = {change.feature: change.target for change in revised["a"].options[0].changes}
    tape.applies_with("b", 11.5, previous="a", **{"income": 30.0, "debts": 4, **asked})
    tape.tick(13 * HOUR_MS)
    tape.fold()
    ended = {(event.application, event.status) for event in tape.ends() if event.status != "broken"}
    assert {("a", "kept"), ("c", "expired")} <= ended
    assert ("a", "expired") not in ended


def test_a_revised_recourse_holds_no_shorter_than_the_first_one_whatever_the_spec_becomes(tape):
    tape.applies_with("a", 0)
    announce(tape, promise(valid_for=timedelta(hours=1)), HOUR_MS)
    tape.new_model("v4", 2)
    tape.fold()
    [revised] = tape.revisions()
    assert revised.expires_at == tape.recourses()["a"].expires_at


def test_the_worst_margin_is_that_of_the_least_score_that_was_asked_for_and_accepted(tape):
    for number in range(30):
        tape.applies_with(f"p{number}", 0, income=20.0 + number)
    tape.new_model("v3", 2)
    tape.passes(3)
    ledger, [look] = tape.fold(), tape.looks()
    first = [option for recourse in open_recourses(ledger) for option in recourse.options if option.model == "1" * 64]
    assert len(first) == look.open - look.broken == look.accepted > 10
    scores = score_of(STRICTER["v3"], linear=True)(rows_of(first))
    assert look.worst_margin == pytest.approx(scores.min() - 0.5)


def test_an_option_at_its_last_instant_is_looked_at_when_the_model_comes(tape):
    tape.applies_with("a", 0)
    tape.tick(10 * HOUR_MS)
    tape.new_model("v4", 10)
    tape.fold()
    assert [(event.status, event.options) for event in tape.ends()] == [("broken", ("1", "2"))]
    assert [(look.open, look.broken) for look in tape.looks()] == [(2, 2)]
    assert [recourse.application for recourse in tape.revisions()] == ["a"]


@pytest.mark.parametrize("restart", [False, True])
def test_an_older_model_judges_until_the_last_instant_of_its_latest_option(tmp_path, monkeypatch, restart):
    """The last to apply did so earlier, by event time. Another model comes as the time of the option ends."""
    tape = story(tmp_path, monkeypatch, promising({"grandfather": True}))
    tape.applies_with("a", 0.05)
    tape.applies_with("z", 0)
    tape.new_model("v4", 2)
    comes_back(tape, "b", 10.05, 1)
    b = tape.journal.pop()
    tape.tick(round(10.05 * HOUR_MS))
    tape.new_model("v3", 10.05)
    tape.journal.append(b._replace(offset=len(tape.journal)))
    tape.fold(parts=[[record] for record in tape.journal] if restart else None)
    assert ("kept", "approved") in [(event.status, event.reason) for event in tape.ends() if event.by == "b"]


def test_what_a_finished_look_did_not_need_is_not_left_to_the_next_one(tape):
    tape.applies_with("a", 0)
    tape.new_model("v3", 2)
    tape.passes(3)
    assert record_of(tape.fold()).credit == 0


def test_every_end_and_every_look_has_an_identity_of_its_own(tape):
    for number in range(5):
        tape.applies_with(f"p{number}", 0, income=20.0 + 5 * number)
    for hours, version in enumerate(STRICTER, 1):
        tape.new_model(version, hours)
        tape.passes(hours + 0.5)
    tape.fold()
    ids = [dict(record.headers)["ce_id"] for record in tape.run.broker.logs["promises", 0]]
    assert len(tape.looks()) == len(STRICTER)
    assert len(set(ids)) == len(ids)


def test_every_output_that_names_a_model_identifies_it(tape, monkeypatch):
    """A version is a name that anybody may give; the hash of the manifest is the model."""
    small_pieces(monkeypatch)
    for number in range(20):
        tape.applies_with(f"p{number:02}", 0, income=20.0 + number)
    tape.applies_with("approved", 0, income=99.0, debts=0)
    comes_back(tape, "done", 1, 0, previous="p19")
    tape.new_model("v3", 2)
    tape.new_model("v4", 2)
    tape.passes(3)
    tape.passes(20)
    tape.fold()
    assert {"kept", "broken", "expired"} <= set(tape.statuses())
    assert tape.revisions()
    named = models_in(tape.run)
    assert {topic for topic, _, _ in named} == {"recourse", "model-decisions", "promises"}
    assert {version for _, version, _ in named} == {"v1", "v3", "v4"}
    digests = {"v1": tape.run.programs["loan"].bundle.manifest_sha256} | {one: digest_of(one) for one in STRICTER}
    assert {(version, digest) for _, version, digest in named} <= digests.items()


def test_a_model_within_the_radius_breaks_nothing_and_nobody_is_looked_at(tape):
    tape.applies_with("a", 0)
    tape.new_model("v5", 2)
    tape.fold()
    [look] = tape.looks()
    assert (look.open, look.cleared, look.accepted, look.broken) == (2, 2, 0, 0)
    assert tape.ends() == []


def test_options_that_are_honoured_are_judged_by_the_older_model(tmp_path, monkeypatch):
    tape = story(tmp_path, monkeypatch, promising({"grandfather": True}))
    tape.applies_with("a", 0)
    tape.applies_with("c", 0)
    tape.new_model("v4", 2)
    comes_back(tape, "b", 4, 0)
    tape.tick(9 * HOUR_MS)
    comes_back(tape, "d", 13, 0, previous="c")
    tape.passes(16)
    tape.fold()
    [look] = tape.looks()
    assert (look.honoured, look.broken, tape.revisions()) == (4, 0, [])
    ended = {(event.application, event.status) for event in tape.ends()}
    assert ended == {("a", "kept"), ("a", "superseded"), ("c", "expired")}
    assert set(tape.recourses()) == {"a", "c", "d"}


def test_another_model_before_all_are_looked_at_begins_anew(tape, monkeypatch):
    small_pieces(monkeypatch)
    for number in range(20):
        tape.applies_with(f"p{number}", 0, income=20.0 + number)
    tape.new_model("v3", 2)
    tape.new_model("v4", 2)
    tape.passes(3)
    tape.fold()
    first, second = tape.looks()
    assert first.left > 0
    assert second.left == 0
    assert first.open == 40
    assert second.open == 40 - first.broken + first.replaced


def test_every_open_option_is_accepted_by_the_newest_model_also_those_that_nobody_looked_at(tmp_path, monkeypatch):
    tape = story(tmp_path, monkeypatch)
    random = np.random.default_rng(3)
    for number in range(200):
        tape.applies_with(f"p{number}", 0, income=float(random.integers(5, 60)), debts=int(random.integers(0, 6)))
    for hours, version in enumerate(("v2", "v5", "v3"), 1):
        tape.new_model(version, hours)
        tape.passes(hours + 0.5)
    ledger = tape.fold()
    assert any(look.cleared for look in tape.looks())
    assert any(look.accepted for look in tape.looks())
    assert any(look.broken for look in tape.looks())
    recourses = open_recourses(ledger)
    targets = np.concatenate([rows_of(recourse.options) for recourse in recourses])
    opened = sum(len(answer.options) for answer in tape.recourses().values())
    assert len(targets) == opened + sum(look.replaced - look.broken for look in tape.looks())
    assert (score_of(STRICTER["v3"], linear=True)(targets) > 0.5).all()


def test_a_model_that_moves_a_little_at_a_time_breaks_what_it_would_break_at_once(tmp_path, monkeypatch):
    """Four models, each stricter by .05: none is far from the one before it."""
    biases = {f"v{number}": BIAS - 0.05 * (number - 1) for number in range(2, 6)}
    told = {}
    for name, versions in (("at once", ["v5"]), ("in four", list(biases))):
        tape = story(tmp_path / name, monkeypatch, biases=biases)
        random = np.random.default_rng(3)
        for number in range(100):
            tape.applies_with(f"p{number}", 0, income=float(random.integers(5, 60)), debts=int(random.integers(0, 6)))
        for hours, version in enumerate(versions, 1):
            tape.new_model(version, hours)
            tape.passes(hours + 0.5)
        recourses = open_recourses(tape.fold())
        told[name] = {(event.application, id) for event in tape.ends() for id in event.options}
        targets = np.concatenate([rows_of(recourse.options) for recourse in recourses])
        assert (score_of(biases["v5"], linear=True)(targets) > 0.5).all()
        assert {event.status for event in tape.ends()} == {"broken"}
    assert told["at once"] == told["in four"]
    assert len(told["at once"]) > 50


def test_who_comes_back_at_the_last_instant_is_in_time(tape):
    """The clocks of all inputs have reached it too."""
    tape.applies_with("a", 0)
    tape.tick(10 * HOUR_MS)
    comes_back(tape, "b", 10, 1)
    tape.fold()
    assert [(event.status, event.options) for event in tape.ends()] == [("kept", ("2",)), ("superseded", ("1",))]


def test_an_option_whose_time_was_over_before_the_model_came_is_not_broken(tape):
    tape.applies_with("a", 0)
    tape.new_model("v4", 10 + 1 / HOUR_MS)
    tape.fold()
    assert [(event.status, event.options) for event in tape.ends()] == [("expired", ("1", "2"))]


@pytest.mark.parametrize(("grandfather", "ended"), [(False, ("broken", "model")), (True, ("kept", "approved"))])
def test_who_comes_back_before_a_new_model_was_asked_about_their_options(tmp_path, monkeypatch, grandfather, ended):
    tape = story(tmp_path, monkeypatch, promising({"grandfather": grandfather}))
    small_pieces(monkeypatch)
    for number in range(20):
        tape.applies_with(f"p{number:02}", 0)
    tape.new_model("v4", 1)
    comes_back(tape, "b", 2, 0, previous="p19")
    tape.passes(3)
    tape.fold()
    assert next((event.status, event.reason) for event in tape.ends() if event.by == "b") == ended
    assert any(look.broken or look.honoured for look in tape.looks())


def test_open_options_stay_as_they_were_promised_whatever_the_spec_becomes(tape):
    tape.applies_with("a", 0)
    before = rows(tape.fold("before"), "SELECT * FROM promised_options")
    announce(tape, feature("income", bounds=(0.0, 31.0), max_change=1.0), HOUR_MS)
    assert rows(tape.fold("after"), "SELECT * FROM promised_options") == before
    assert tape.ends() == []


def test_what_replaces_a_broken_option_is_of_the_spec_in_force(tape, monkeypatch):
    """The spec changes while the open options are looked at under a new model."""
    small_pieces(monkeypatch)
    for number in range(8):
        tape.applies_with(f"a{number}", 0.01 * number)
    tape.new_model("v4", 1)
    announce(tape, feature("debts", mutable="none"), HOUR_MS)
    tape.passes(2)
    tape.fold()
    own = tape.run.programs["loan"]
    changed = own.changed(feature("debts", mutable="none")(own.spec))
    later = [answer for answer in tape.revisions() if answer.spec == changed.sha256]
    assert later
    for answer in later:
        assert {change.feature for option in answer.options for change in option.changes} == {"income"}
    assert {look.left for look in tape.looks()} == {0}
