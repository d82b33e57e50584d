"""Decisions against people say why, where the program's own model decides."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from msgspec import UNSET

from onward.schemas.events import ModelDecision, NoRecourse, Reason
from onward.testing.pipeline import PipelineRun
from onward.testing.program import FEATURES, build_program
from onward.testing.tape import MINUTE_MS, POOR, RICH, TIMED, Tape
from onward.tests.streams.engine.rounds.stories import HOUR_MS, Story, limited
from onward.tests.support.changed_specs import protected_and_read

TYPICAL = {"region": "south", "income": 80.0, "debts": 1}
IMMOVABLE = tuple({**one, "mutable": "none"} for one in FEATURES)


def with_baseline(program):
    return replace(program, bundle=replace(program.bundle, baseline=TYPICAL))


def tape(tmp_path, **program):
    return Tape(PipelineRun({"loan": with_baseline(build_program(**TIMED, **program))}, tmp_path))


def decisions(story):
    return {one.application: one for one in story.run.events("model-decisions", ModelDecision)}


def texts(event):
    return [reason.text for reason in event.reasons]


def test_who_is_rejected_reads_why_and_who_is_approved_reads_nothing(tmp_path):
    story = tape(tmp_path)
    story.applies("poor")
    story.applies("rich", MINUTE_MS, features=RICH)
    story.fold()
    assert decisions(story)["rich"].reasons is UNSET
    assert decisions(story)["poor"].reasons == (
        Reason("income is too low", "income", 10.0),
        Reason("debts is too high", "debts", 4),
    )


def test_who_has_no_way_forward_reads_the_same_reasons(tmp_path):
    story = tape(tmp_path, features=IMMOVABLE)
    story.applies("poor")
    story.fold()
    [answer] = story.answers()
    assert isinstance(answer, NoRecourse)
    assert answer.reasons == decisions(story)["poor"].reasons
    assert texts(answer) == ["income is too low", "debts is too high"]


def test_a_bundle_without_a_baseline_gives_no_reasons(tmp_path):
    story = Tape(PipelineRun({"loan": build_program(**TIMED)}, tmp_path))
    story.applies("poor")
    story.fold()
    assert decisions(story)["poor"].reasons is UNSET
    assert b"reasons" not in story.run.broker.logs["model-decisions", 0][0].value


def test_what_another_system_decides_has_no_reasons(tmp_path):
    story = tape(tmp_path, decisions="external", features=IMMOVABLE)
    story.applies("poor")
    story.decides("poor", MINUTE_MS)
    story.fold()
    [answer] = story.answers()
    assert isinstance(answer, NoRecourse)
    assert answer.reasons is UNSET


def test_a_protected_feature_is_no_reason_and_is_counted(tmp_path):
    story = tape(tmp_path)
    given = story.run.programs["loan"]
    story.run.programs = {"loan": given.begun_with(protected_and_read("income")(given.spec))}
    story.applies("poor")
    story.applies("rich", MINUTE_MS, features=RICH)
    story.fold()
    assert texts(decisions(story)["poor"]) == ["debts is too high"]
    assert b'onward_protected_reasons_total{feature="income",program="loan"} 1.0' in story.metrics.expose()


def test_portions_of_any_size_give_the_same_reasons(tmp_path):
    story = tape(tmp_path)
    for number in range(8):
        story.applies(f"p{number}", number * MINUTE_MS, features={**POOR, "income": 5.0 * number})
    story.fold("together")
    together = [record.value for record in story.run.broker.logs["model-decisions", 0]]
    story.run.broker.logs["model-decisions", 0].clear()
    story.fold("one by one", [[record] for record in story.journal])
    assert [record.value for record in story.run.broker.logs["model-decisions", 0]] == together
    assert all(msgspec.json.decode(value)["reasons"] for value in together)


def rounds(tmp_path):
    story = Story(PipelineRun({"loan": with_baseline(limited())}, tmp_path))
    for name, income in {"low": 15, "first": 45, "third": 30, "second": 40}.items():
        story.applies_with(name, 10 * MINUTE_MS, income, applicant=f"person {name}")
    return story


def test_in_a_round_a_lack_of_places_is_the_first_reason_of_who_qualifies(tmp_path):
    story = rounds(tmp_path)
    story.tick(HOUR_MS + 6 * MINUTE_MS)
    story.fold()
    own = decisions(story)
    assert [name for name, one in own.items() if one.approved] == ["first", "second"]
    assert own["third"].reasons[0] == Reason("round 1 had fewer places than there were people who qualify")
    assert texts(own["third"])[1:] == ["income is too low"]
    assert texts(own["low"]) == ["income is too low"]


def test_who_applies_twice_in_a_round_reads_that_alone(tmp_path):
    story = rounds(tmp_path)
    story.applies_with("again", 12 * MINUTE_MS, 60, applicant="person low")
    story.tick(HOUR_MS + 6 * MINUTE_MS)
    story.fold()
    assert texts(decisions(story)["again"]) == [
        "the same person has an earlier application in this round, and it counts"
    ]
