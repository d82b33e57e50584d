"""A changed spec takes effect at its place in the journal, and what was learned, asked and promised goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec import Raw
from msgspec.structs import replace as replace_fields

from onward.schemas.events import DeadLetter, Model, ModelDecision, RawSpec, Recourse
from onward.schemas.headers import read_headers
from onward.schemas.kinds import kinds
from onward.schemas.spec import Instances, Label, Window
from onward.streams.engine.cases import Status
from onward.streams.errors import LedgerError
from onward.streams.journal.lines import line_of, pack_lines
from onward.streams.ledger.array_codec import unpack
from onward.streams.programs.program import Program
from onward.streams.records import Record
from onward.testing.ledger import dump, rows
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, TIMED, Tape, tape
from onward.tests.support.changed_specs import (
    CHANGES,
    announce,
    feature,
    most_changes,
    policy,
    protected_and_read,
    spec_event,
)
from onward.tests.support.ledgers import cases

SEARCH: Mapping[str, Any] = {
    "choice": "posterior",
    "policy": {"generator": "search", "options": 2},
    "features": (
        {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
        {"name": "income", "type": "continuous", "bounds": [0, 100], "step": 1},
        {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
    ),
    **TIMED,
}
NEAR = {**POOR, "income": 60.0}
"""A person with two options: more income, or fewer debts."""
NARROWER = CHANGES["a narrower bound"]


def letters(story: Tape) -> list[DeadLetter]:
    return story.run.events("dead-letters", DeadLetter)


def recourses(story: Tape) -> list[Recourse]:
    return [answer for answer in story.answers() if isinstance(answer, Recourse)]


def learned(ledger) -> dict[str, np.ndarray]:
    [(body,)] = rows(ledger, "SELECT learner FROM shards")
    return dict(unpack(body))


# --- the place in the journal -------------------------------------------------------------------------------------


def test_answers_name_the_spec_that_is_in_force_at_their_place(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("before")
    announce(story, NARROWER, MINUTE_MS)
    story.applies("after", MINUTE_MS)
    ledger = story.fold()
    first, second = recourses(story)
    program = story.run.programs["loan"]
    assert (first.spec, second.spec) == (program.sha256, program.changed(NARROWER(program.spec)).sha256)
    assert rows(ledger, "SELECT spec FROM programs") == [(second.spec,)]
    assert [decision.spec for decision in story.run.events("model-decisions", ModelDecision)] == [
        first.spec,
        second.spec,
    ]


def test_a_worker_with_a_later_file_replays_the_journal_from_its_first_spec(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("before")
    announce(story, NARROWER, MINUTE_MS)
    story.applies("after", 2 * MINUTE_MS)
    announce(story, policy(options=1), 3 * MINUTE_MS)
    story.applies("last", 4 * MINUTE_MS)
    expected, outputs = dump(story.fold()), story.run.outputs()
    given = story.run.programs["loan"]
    for change in (NARROWER, lambda spec: policy(options=1)(NARROWER(spec))):
        later = PipelineRun({"loan": given.begun_with(change(given.spec))}, tmp_path / change(given.spec).policy.choice)
        later.broker.logs["journal", 0] = story.journal
        again = Tape(later)
        assert dump(again.fold(f"ledger {change(given.spec).policy.options}")) == expected
        assert later.outputs() == outputs


def test_a_spec_that_means_the_same_changes_nothing(tmp_path):
    one, other = (tape(tmp_path / name, **SEARCH) for name in ("one", "other"))
    for story in (one, other):
        story.applies("before")
        announce(story, (lambda spec: spec) if story is one else NARROWER, MINUTE_MS)
        story.applies("after", MINUTE_MS)
    assert rows(one.fold(), "SELECT number FROM specs") == [(0,)]
    assert rows(other.fold(), "SELECT number FROM specs") == [(0,), (1,)]
    assert letters(one) == letters(other) == []


def test_a_spec_can_be_changed_back(tmp_path):
    story = tape(tmp_path, **SEARCH)
    for number, change in enumerate((NARROWER, CHANGES["the bound as it was"])):
        announce(story, change, number * MINUTE_MS)
    story.applies("rich", 3 * MINUTE_MS, {**POOR, "income": 95.0, "debts": 10})
    ledger = story.fold()
    assert letters(story) == []
    assert rows(ledger, "SELECT spec FROM programs") == [(story.run.programs["loan"].sha256,)]


def test_a_journal_of_an_earlier_version_is_begun_with_the_spec_of_the_file(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("p")
    [record] = [record for record in story.journal if b"onward.application" in (record.value or b"")]
    old = Tape(PipelineRun(story.run.programs, tmp_path / "old"))
    old.run.broker.logs["journal", 0] = [record._replace(offset=0)]
    assert [answer.application for answer in old.run.events("recourse", Recourse)] == []
    old.fold()
    assert [answer.spec for answer in recourses(old)] == [story.run.programs["loan"].sha256]


def test_a_journal_that_a_spec_cannot_follow_is_refused(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("p")
    story.run.programs = {"loan": build_program(**{**SEARCH, "shards": 2})}
    with pytest.raises(LedgerError, match=r"file of program 'loan' is not the spec .* shards cannot change"):
        story.fold()


def test_the_file_of_a_program_from_before_there_was_an_objective_is_told_what_it_needs(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("p")
    story.run.programs = {"loan": build_program(**SEARCH | {"policy": SEARCH["policy"] | {"objective": "improvement"}})}
    with pytest.raises(LedgerError, match=r'objective: "improvement" -> none\); .*needs `policy: {objective: cost}`'):
        story.fold()


# --- what is refused ----------------------------------------------------------------------------------------------


def renamed(spec):
    first, *others = spec.features
    return msgspec.structs.replace(spec, features=(msgspec.structs.replace(first, name="county"), *others))


REFUSED = {
    "a renamed feature": (renamed, "features cannot change: cases, open options and what is learned are encoded by"),
    "a wider bound": (feature("income", bounds=(0.0, 200.0)), "was trained with 0 to 100, and knows nothing beyond"),
    "a lower bound": (feature("income", bounds=(-1.0, 100.0)), "was trained with 0 to 100, and knows nothing beyond"),
    "a type": (feature("debts", type="continuous"), "features.debts.type cannot change"),
    "a choice": (policy(choice="linucb"), "policy.choice cannot change: what is learned was learned with it"),
    "a label": (lambda spec: msgspec.structs.replace(spec, label=Label("paid")), "label.name cannot change"),
    "a rule": (feature("income", bounds=(50.0, 40.0)), "features.1.bounds: income: the lower bound 50 must be below"),
    "a protected feature": (feature("income", protected=True), "nobody is to be told to change what is protected"),
    "a parameter": (policy(parameters={"optimism": -1.0}), "policy.parameters.optimism: optimism is -1.0"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_change_is_a_dead_letter_with_the_reason(tmp_path, change, why):
    story = tape(tmp_path, **SEARCH)
    announce(story, change, 0)
    story.applies("p", MINUTE_MS)
    story.fold()
    [letter] = letters(story)
    assert (letter.reason, letter.topic) == ("spec_refused", "specs")
    assert why in letter.detail
    assert [answer.spec for answer in recourses(story)] == [story.run.programs["loan"].sha256]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (RawSpec("loan", Raw(b"{}"), "1" * 64), "spec_refused"),
        (RawSpec("loan", Raw(b'{"new": 1}'), "1" * 64), "spec_refused"),
        (RawSpec("loan", Raw(b"[]"), "1" * 64), "spec_refused"),
        (RawSpec("loan", Raw(b"{}"), "2" * 64), "spec_refused"),
        (RawSpec("loan", Raw(b'{"program": "x", "program": "y"}'), "1" * 64), "duplicate_key"),
        (RawSpec("loan", Raw(b'{"program": "\xff"}'), "1" * 64), "spec_refused"),
        (RawSpec("loan", Raw(b'{"program": ' + b"[" * 300 + b"]" * 300 + b"}"), "1" * 64), "spec_refused"),
        (RawSpec("nobody", Raw(b"{}"), "1" * 64), "unknown_program"),
    ],
)
def test_what_is_no_spec_of_the_program_is_a_dead_letter(tmp_path, event, reason):
    story = tape(tmp_path, **SEARCH)
    story.send("specs", event, 0, "s")
    story.fold()
    assert story.reasons() == [reason]


def test_what_ingest_has_let_through_ends_no_worker(tmp_path):
    """Another version of ingest may have taken what this one refuses."""
    story = tape(tmp_path, **SEARCH)
    sent = announce(story, lambda spec: spec, 0)
    program = story.run.programs["loan"]
    refused = msgspec.json.encode(spec_event(program, renamed(program.spec)))
    line = line_of(read_headers(sent.headers), kinds["spec"], sent._replace(offset=1), refused)
    [out] = pack_lines("journal", 0, [line])
    story.journal.append(Record("journal", 0, len(story.journal), out.timestamp_ms, None, out.value, ()))
    story.fold()
    assert story.reasons() == ["spec_refused"]


# --- narrower bounds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decisions", ["model", "external"])
def test_an_application_outside_narrower_bounds_is_refused_from_their_place_on(tmp_path, decisions):
    # With one option the steps of several people are taken together.
    story = tape(tmp_path, **{**SEARCH, "policy": {"generator": "search", "options": 1}}, decisions=decisions)
    outside = {**POOR, "income": 95.0, "debts": 10}
    story.applies("before", 0, outside)
    announce(story, NARROWER, MINUTE_MS)
    for name, features in (("poor", POOR), ("after", outside), ("poorer", POOR)):
        story.applies(name, MINUTE_MS, features)
    ledger = story.fold()
    [letter] = letters(story)
    assert (letter.reason, letter.detail) == ("out_of_bounds", "income: 95 is outside 0 to 90")
    assert [case.key.application for case in cases(ledger)] == ["before", "poor", "poorer"]


def test_narrower_bounds_may_widen_to_those_that_the_model_was_trained_with(tmp_path):
    story = tape(tmp_path, **SEARCH)
    outside = {**POOR, "income": 95.0, "debts": 10}
    announce(story, NARROWER, 0)
    story.applies("refused", MINUTE_MS, outside)
    announce(story, feature("income", bounds=(0.0, 100.0)), 2 * MINUTE_MS)
    story.applies("taken", 3 * MINUTE_MS, outside)
    ledger = story.fold()
    assert [letter.reason for letter in letters(story)] == ["out_of_bounds"]
    assert [case.key.application for case in cases(ledger)] == ["taken"]


def test_who_was_accepted_before_narrower_bounds_is_answered_under_them(tmp_path):
    story = tape(tmp_path, **SEARCH, decisions="external")
    story.applies("p", 0, {**POOR, "income": 95.0, "debts": 10})
    announce(story, NARROWER, MINUTE_MS)
    story.decides("p", 2 * MINUTE_MS)
    story.fold()
    [answer] = story.answers()
    assert letters(story) == []
    assert answer.application == "p"
    for option in getattr(answer, "options", ()):
        assert {change.feature: change.target for change in option.changes}["income"] <= 90.0


@pytest.mark.parametrize(("generator", "highest"), [("search", 55.0), ("adapted", 55.0), ("instances", 80.0)])
def test_no_option_leads_outside_narrower_bounds(tmp_path, generator, highest):
    own = {**SEARCH, "policy": {"generator": generator, "options": 3}, "candidates": 24}
    story = tape(tmp_path, **own)
    for number in range(5):
        story.applies(f"a{number}", 0, {"region": "north", "income": 5.0 * number, "debts": 2})
    narrower = feature("income", bounds=(0.0, highest))
    announce(story, lambda spec: replace_fields(narrower(spec), instances=Instances(publish=True)), MINUTE_MS)
    for number in range(5):
        story.applies(f"b{number}", MINUTE_MS, {"region": "north", "income": 5.0 * number, "debts": 2})
    story.fold()
    targets = {
        prefix: [
            change.target
            for answer in recourses(story)
            for option in answer.options
            for change in option.changes
            if answer.application.startswith(prefix) and change.feature == "income"
        ]
        for prefix in "ab"
    }
    assert targets["b"]
    assert max(targets["b"]) <= highest < max(targets["a"])


def test_nobody_is_told_to_change_a_feature_from_its_protection_on(tmp_path):
    story = tape(tmp_path, **SEARCH)
    person = {"region": "north", "income": 5.0, "debts": 2}
    story.applies("before", 0, person)
    announce(story, protected_and_read("income"), MINUTE_MS)
    story.applies("after", MINUTE_MS, person)
    story.fold()
    assert letters(story) == []
    told = {
        answer.application: {change.feature for option in getattr(answer, "options", ()) for change in option.changes}
        for answer in story.answers()
    }
    assert "income" in told["before"]
    assert "income" not in told["after"]


# --- what is learned ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["posterior", "residual", "linucb", "bwo_ucb", "gp_ucb"])
def test_what_was_learned_of_arms_that_stay_is_kept(tmp_path, choice):
    story = tape(tmp_path, **{**SEARCH, "choice": choice})
    for number in range(12):
        story.applies(f"p{number}", number * MINUTE_MS, {**POOR, "income": 10.0 + 3 * number})
        story.outcome(f"p{number}", number * MINUTE_MS, option="1")
    before = learned(story.fold("before"))
    announce(story, feature("region", mutable="any"), 13 * MINUTE_MS)
    after = learned(story.fold("after"))
    program = story.run.programs["loan"]
    wider = program.changed(feature("region", mutable="any")(program.spec))
    assert (len(program.arms), len(wider.arms)) == (3, 7)
    assert (wider.arms[:3] == program.arms).all()
    kind = type(program.learner())
    for name, array in before.items():
        if name in kind.per_arm:
            assert (after[name][:3] == array).all()
        elif name not in kind.of_arms_alone:
            assert (after[name] == array).all()


def test_an_arm_keeps_its_number_when_features_come_and_go(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("first")
    announce(story, feature("region", mutable="any"), MINUTE_MS)
    story.applies("second", MINUTE_MS)
    announce(story, most_changes(1), 2 * MINUTE_MS)
    story.applies("third", 2 * MINUTE_MS)
    story.fold()
    program, arms = story.run.programs["loan"], dict[frozenset[str], str]()
    for answer in recourses(story):
        for option in answer.options:
            changed = frozenset(change.feature for change in option.changes)
            assert arms.setdefault(changed, option.candidate) == option.candidate
    assert {int(arm) for arm in arms.values()} <= set(range(7))
    assert arms[frozenset({"income"})] == "0"
    assert len(program.arms) == 3


def test_an_outcome_of_an_arm_that_is_gone_is_learned(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("p", 0, NEAR)
    announce(story, feature("debts", mutable="none"), MINUTE_MS)
    before = learned(story.fold("before"))
    story.outcome("p", 2 * MINUTE_MS, option="2")
    after = learned(story.fold("after"))
    assert story.fates() == [("p", "rewarded")]
    assert any((before[name] != after[name]).any() for name in before)


# --- what goes on -------------------------------------------------------------------------------------------------


def test_an_open_recourse_keeps_its_window(tmp_path):
    story = tape(tmp_path, **SEARCH)
    story.applies("short", 0)
    announce(story, policy(window=Window(time=timedelta(days=2), lateness=timedelta(minutes=5))), MINUTE_MS)
    story.applies("long", MINUTE_MS)
    story.tick(40 * MINUTE_MS)
    story.fold()
    assert story.fates() == [("short", "censored")]
    story.tick(3 * DAY_MS)
    story.fold()
    assert story.fates() == [("short", "censored"), ("long", "censored")]


@pytest.mark.parametrize("choice", ["posterior", "residual", "linucb"])
def test_a_window_of_steps_may_become_one_of_time(tmp_path, choice):
    story = tape(tmp_path, **{**SEARCH, "choice": choice, "window": {"steps": 2, "lateness": "PT5M"}})
    story.applies("a", 0)
    announce(story, policy(window=Window(time=timedelta(minutes=30), lateness=timedelta(minutes=5))), MINUTE_MS)
    for number in range(3):
        story.applies(f"b{number}", MINUTE_MS)
    story.fold()
    assert story.fates() == [("a", "censored")]
    story.tick(DAY_MS)
    story.fold()
    assert story.fates() == [("a", "censored"), *((f"b{number}", "censored") for number in range(3))]


def test_silence_about_several_options_is_still_learned_when_people_get_one(tmp_path):
    """The pulls of the other options are taken back when the window closes, as before the change."""
    found = []
    for name, change in (("same", lambda spec: spec), ("one", policy(options=1))):
        story = tape(tmp_path / name, **SEARCH)
        story.applies("p", 0, NEAR)
        announce(story, change, MINUTE_MS)
        story.tick(DAY_MS)
        found.append(learned(story.fold()))
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


def test_the_number_of_options_changes_at_its_place(tmp_path):
    story = tape(tmp_path, **SEARCH)
    for number, count in enumerate((2, 1, 2)):
        announce(story, policy(options=count), number * MINUTE_MS)
        story.applies(f"p{number}", number * MINUTE_MS, NEAR)
    story.fold()
    assert [len(answer.options) for answer in recourses(story)] == [2, 1, 2]


def test_a_case_that_waits_for_its_decision_is_answered_under_the_spec_of_the_decision(tmp_path):
    story = tape(tmp_path, **SEARCH, decisions="external")
    story.applies("p")
    announce(story, policy(options=1), MINUTE_MS)
    story.decides("p", 2 * MINUTE_MS)
    ledger = story.fold()
    [answer] = recourses(story)
    assert len(answer.options) == 1
    assert cases(ledger)[0].status is Status.OPEN


def test_a_later_model_goes_on_under_a_changed_spec(tmp_path, monkeypatch):
    story = tape(tmp_path, **SEARCH)
    own = story.run.programs["loan"].bundle
    second = replace(own, version="v2", manifest_sha256="3" * 64)
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: second)
    story.send("models", Model("loan", "v2", "memory", "3" * 64), 0, "m")
    announce(story, NARROWER, MINUTE_MS)
    story.applies("p", MINUTE_MS)
    story.fold(parts=[[record] for record in story.journal])
    [answer] = recourses(story)
    assert (answer.model, answer.spec != story.run.programs["loan"].sha256) == ("v2", True)
