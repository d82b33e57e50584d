"""Questions in the stream: who is asked, what their answers bring, and which answers do not count."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from onward.schemas.events import ModelDecision, NoRecourse, Recourse
from onward.schemas.spec_document import document, spec_of
from onward.streams.api.elicitation import Elicitation
from onward.streams.engine.cases import Status
from onward.streams.engine.portion import PreferenceUpdate
from onward.streams.engine.timing.watermark import required_topics
from onward.streams.metrics import Metrics
from onward.streams.replay.journal_replay import JournalReplay
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.streams.worker.stages import Stage
from onward.testing.ledger import dump
from onward.testing.pipeline import START_MS, no_clock
from onward.testing.tape import JOURNAL
from onward.tests.streams.engine.questions.stories import (
    FEATURES,
    HOUR_MS,
    LATENESS_MS,
    POLICY,
    POOR,
    RICH,
    Story,
    asking,
    story,
)
from onward.tests.support.ledgers import cases

OVER_MS = 10 * HOUR_MS + LATENESS_MS + 1
"""When the watermark has passed the deadline of somebody who applied at 0."""


@pytest.fixture
def tape(tmp_path, monkeypatch) -> Story:
    return story(tmp_path, monkeypatch)


def recourse_of(tape: Story) -> Recourse:
    [recourse] = tape.answers()
    assert isinstance(recourse, Recourse)
    return recourse


def test_each_answer_brings_the_next_question_and_the_last_one_the_recourse(tape):
    tape.applies("x", 0, POOR)
    [case] = cases(tape.fold())
    assert (case.status, tape.asked(), tape.answers()) == (Status.ASKED, [("x", 1)], [])
    for number in (1, 2, 3):
        tape.replies("x", number, number * HOUR_MS)
    [case] = cases(tape.fold())
    assert (case.status, tape.asked()) == (Status.OPEN, [("x", 1), ("x", 2), ("x", 3)])
    recourse = recourse_of(tape)
    assert (recourse.answers, recourse.step) == ((1, 1, 1), 0)
    assert recourse.options[0].changes == tape.questions()[-1].options[0].changes
    assert len(tape.run.events("model-decisions", ModelDecision)) == 1
    assert tape.reasons() == []


@pytest.mark.parametrize("picks", [("1", "2", None), (None, None), ("2",), ()])
def test_a_worker_tells_what_the_python_interface_tells_after_the_same_answers(tape, picks):
    tape.applies("x", 0, POOR)
    own = Elicitation(tape.run.programs["loan"], "x", POOR, START_MS)
    for number, option in enumerate(picks, 1):
        tape.replies("x", number, number * HOUR_MS, option)
    tape.tick(OVER_MS)
    tape.fold()
    for question, option in zip(tape.questions(), picks, strict=False):
        assert own.question is not None
        assert question.options == own.question.options
        own.answer(None if option is None else int(option))
    recourse = recourse_of(tape)
    assert isinstance(own.recourse, Recourse)
    assert (recourse.options, recourse.answers, recourse.regret) == (own.recourse.options, own.answers, own.regret)


def test_a_question_shows_plans_as_a_recourse_does_and_says_until_when_it_is_open(tape):
    tape.applies("x", 0, POOR)
    for number in (1, 2):
        tape.replies("x", number, HOUR_MS)
    tape.fold()
    *_, last = tape.questions()
    steps = [option.steps for question in tape.questions() for option in question.options if option.steps]
    assert any([step.feature for step in each].count("debts") > 1 for each in steps)
    assert [option.id for option in last.options] == ["1", "2"]
    assert last.expires_at == tape.questions()[0].expires_at
    assert "question 3" in str(last)


def test_only_those_are_asked_who_can_be_told_different_plans(tmp_path, monkeypatch):
    features = [{**feature, "mutable": "up" if feature["name"] == "income" else "none"} for feature in FEATURES]
    tape = story(tmp_path, monkeypatch, asking(features=features))
    tape.applies("approved", 0, RICH)
    tape.applies("content", 0, POOR)
    tape.new_model("v4", 0)
    tape.applies("stuck", 1, POOR)
    tape.fold()
    content, stuck = tape.answers()
    assert (content.application, content.answers) == ("content", ())
    assert isinstance(stuck, NoRecourse)
    assert tape.asked() == []


def test_the_deadline_brings_what_is_known(tape):
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS, "2")
    tape.tick(OVER_MS - 1)
    tape.fold()
    assert tape.answers() == []
    tape.tick(OVER_MS)
    [case] = cases(tape.fold())
    recourse = recourse_of(tape)
    assert (recourse.answers, case.status) == ((2,), Status.OPEN)
    assert case.time_ms == START_MS + 10 * HOUR_MS


def test_the_outcome_and_the_pick_of_a_recourse_wait_for_it(tape):
    tape.outcome("x", HOUR_MS, option="1")
    for number in (1, 2, 3):
        tape.replies("x", number, 0)
    tape.applies("x", 0, POOR)
    tape.fold()
    assert len(recourse_of(tape).options) > 1
    assert tape.fates() == [("x", "rewarded")]


REFUSED = [
    (1, HOUR_MS, "3", "unknown_option"),
    (1, HOUR_MS, "01", "unknown_option"),
    (1, 10 * HOUR_MS + 1, "1", "question_closed"),
    (2, HOUR_MS, "1", "answer_without_question"),
    (10**9, HOUR_MS, "1", "answer_without_question"),
]


@pytest.mark.parametrize(("number", "ms", "option", "reason"), REFUSED)
def test_an_answer_that_cannot_count_is_a_dead_letter_once_and_changes_nothing(tape, number, ms, option, reason):
    tape.applies("x", 0, POOR)
    tape.again(tape.replies("x", number, ms, option))
    [case] = cases(tape.fold())
    assert tape.reasons() == [reason]
    assert (case.status, case.asked.answers, tape.asked()) == (Status.ASKED, b"", [("x", 1)])


def test_of_two_answers_to_a_question_the_first_counts(tape):
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS, "1")
    tape.replies("x", 1, HOUR_MS, "1", id="the same")
    tape.replies("x", 1, HOUR_MS, "2")
    tape.replies("x", 1, HOUR_MS, None)
    tape.tick(OVER_MS)
    tape.fold()
    assert recourse_of(tape).answers == (1,)
    assert tape.reasons() == ["answer_changed"] * 2
    tape.replies("x", 1, HOUR_MS, "2", id="after the recourse")
    tape.replies("x", 2, HOUR_MS, "2")
    tape.fold()
    assert tape.reasons()[2:] == ["answer_changed", "question_closed"]


def test_an_answer_at_the_deadline_counts(tape):
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, 10 * HOUR_MS)
    [case] = cases(tape.fold())
    assert (case.asked.answers, tape.reasons()) == (b"\x00", [])


def test_questions_of_history_are_open_as_long_as_others(tape):
    """Somebody who applied years ago is asked today, and what they say counts; so does what becomes of them."""
    years = 800 * 24 * HOUR_MS
    tape.run.clock_ms = lambda: START_MS + 2 * years
    tape.tick(years)
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, years + 10 * HOUR_MS, "2")
    tape.tick(years + OVER_MS - 1)
    tape.fold("open")
    assert (tape.answers(), tape.reasons()) == ([], [])
    tape.tick(years + OVER_MS)
    tape.tick(years + 59 * 24 * HOUR_MS)
    [case] = cases(tape.fold())
    assert (recourse_of(tape).answers, case.status) == ((2,), Status.OPEN)


def test_an_answer_to_somebody_who_was_not_asked_is_a_dead_letter(tape):
    tape.applies("approved", 0, RICH)
    tape.replies("approved", 1, HOUR_MS)
    tape.replies("nobody", 1, HOUR_MS)
    tape.tick(2 * HOUR_MS)
    tape.fold()
    assert tape.reasons() == ["answer_without_question"] * 2


def test_a_program_that_asks_nobody_takes_no_answer_to_a_question(tmp_path, monkeypatch):
    tape = story(tmp_path, monkeypatch, asking(asks=None))
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS)
    tape.replies("nobody", 1, HOUR_MS)
    tape.fold()
    assert recourse_of(tape).to_dict().keys().isdisjoint({"regret", "answers"})
    assert tape.reasons() == ["answer_without_question"] * 2


def test_answers_stand_under_a_new_model_that_asks_the_same(tape):
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS)
    tape.new_model("v2", HOUR_MS)
    for number in (2, 3):
        tape.replies("x", number, 2 * HOUR_MS)
    tape.fold()
    recourse = recourse_of(tape)
    assert (recourse.model, recourse.answers) == ("v2", (1, 1, 1))


def test_under_a_model_that_asks_otherwise_answers_stand_and_no_more_is_asked(tape):
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS)
    tape.new_model("v3", HOUR_MS)
    tape.replies("x", 2, 2 * HOUR_MS)
    tape.replies("x", 2, 2 * HOUR_MS, "2")
    tape.replies("x", 3, 3 * HOUR_MS)
    tape.fold()
    recourse, third = recourse_of(tape), tape.questions()[2]
    assert (third.number, third.model) == (3, "v3")
    assert third.options != tape.questions()[0].options
    assert recourse.answers == (1, 1, 1)
    assert len(tape.questions()) == 3
    assert tape.reasons() == ["answer_changed"]


def test_what_was_answered_under_another_model_says_what_is_easy(tape):
    for name in ("x", "y"):
        tape.applies(name, 0, POOR)
        for number in (1, 2):
            tape.replies(name, number, HOUR_MS, "1" if name == "x" else "2")
    tape.new_model("v3", HOUR_MS)
    tape.applies("z", 2 * HOUR_MS, POOR)
    tape.tick(2 * OVER_MS)
    tape.fold()
    x, y, z = tape.answers()
    assert isinstance(x, Recourse)
    assert isinstance(y, Recourse)
    assert isinstance(z, Recourse)
    assert (x.model, x.answers, y.answers, z.answers) == ("v3", (1, 1), (2, 2), ())
    assert x.regret < z.regret
    assert x.options[0].changes != y.options[0].changes


@pytest.mark.parametrize("answers", [True, False])
def test_who_has_no_plan_any_more_hears_why(tape, answers):
    tape.applies("x", 0, POOR)
    tape.new_model("v4", HOUR_MS)
    if answers:
        tape.replies("x", 1, 2 * HOUR_MS)
    else:
        tape.tick(OVER_MS)
    tape.fold()
    [answer] = tape.answers()
    assert isinstance(answer, NoRecourse)


def test_where_others_decide_the_rejected_are_asked_and_no_second_decision_counts(tmp_path, monkeypatch):
    tape = story(tmp_path, monkeypatch, asking(decisions="external"))
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS)
    tape.applies("y", 0, POOR)
    tape.decides("y", HOUR_MS, approved=True)
    tape.decides("x", HOUR_MS)
    tape.decides("x", HOUR_MS, id="again", approved=True)
    tape.replies("y", 1, HOUR_MS)
    tape.tick(12 * HOUR_MS)
    tape.fold()
    assert tape.asked() == [("x", 1), ("x", 2)]
    assert recourse_of(tape).answers == (1,)
    assert tape.reasons() == ["already_decided", "answer_without_question"]


def test_nothing_is_promised_before_the_recourse(tmp_path, monkeypatch):
    program = asking(promise={"kind": "lp", "radius": 0.01, "valid_for": "P9D"})
    tape = story(tmp_path, monkeypatch, program)
    tape.applies("x", 0, POOR)
    tape.tick(OVER_MS)
    tape.fold()
    assert all(option["status"] for option in recourse_of(tape).to_dict()["options"])
    [question] = tape.questions()
    assert not any("status" in option for option in question.to_dict()["options"])


def test_only_the_watermark_of_programs_that_ask_waits_for_answers():
    topics = Topics()
    waiting = {name for name, waits_for in required_topics(topics).items() if topics.answers in waits_for}
    assert waiting == {asking().watermark} == {asking(decisions="external").watermark}


def test_a_worker_that_is_killed_between_a_question_and_its_answer_asks_the_same_next(tmp_path, monkeypatch):
    whole, cut = (story(tmp_path / name, monkeypatch) for name in ("whole", "cut"))
    for tape in (whole, cut):
        tape.applies("x", 0, POOR)
    kill_after_publishing(cut)
    for tape in (whole, cut):
        tape.replies("x", 1, HOUR_MS, None)
    kill_after_publishing(cut)
    for tape in (whole, cut):
        tape.replies("x", 2, HOUR_MS, "2")
        tape.tick(OVER_MS)
    expected, found = (dump(tape.fold()) for tape in (whole, cut))
    assert (cut.run.outputs(), found) == (whole.run.outputs(), expected)
    assert len(whole.questions()) == 3


def kill_after_publishing(tape: Story) -> Path:
    """A worker that ends when its outputs are acknowledged, and before they are in the ledger; another one goes on."""

    def kill(stage: Stage) -> None:
        if stage is Stage.OUTPUTS_ACKNOWLEDGED:
            raise KilledError

    with pytest.raises(KilledError):
        asyncio.run(tape.folded("ledger", [tape.journal], kill))
    return tape.fold()


def test_open_questions_are_counted_by_when_people_were_asked_first(tape):
    tape.applies("x", 0, POOR)
    tape.applies("y", 0, POOR)
    tape.replies("x", 1, HOUR_MS)
    tape.applies("z", 2 * HOUR_MS, POOR)
    tape.tick(2 * HOUR_MS + LATENESS_MS)
    assert open_questions(measured(tape)) == {"hour": 1, "day": 2, "week": 0, "older": 0}
    tape.tick(OVER_MS)
    assert open_questions(measured(tape)) == {"hour": 0, "day": 1, "week": 0, "older": 0}
    tape.tick(OVER_MS + 2 * HOUR_MS)
    assert set(open_questions(measured(tape)).values()) == {0}


@pytest.mark.parametrize(("option", "regrets"), [("1", 1), ("3", 1), (None, 0)])
def test_what_people_pick_shows_the_regret_that_they_were_told(tape, option, regrets):
    tape.applies("x", 0, POOR)
    tape.tick(OVER_MS)
    tape.says("x", OVER_MS, option)
    tape.says("x", OVER_MS, "2")
    metrics = measured(tape)
    told, seen = value(metrics.counts["regrets_told"], "loan"), value(metrics.counts["regrets_seen"], "loan")
    assert value(metrics.counts["regrets"], "loan") == regrets
    assert told == pytest.approx(regrets * recourse_of(tape).regret)
    assert (seen > told) == (option == "3")
    assert value(metrics.counts["elicited_recourses"], "loan", "0") == 1


def value(metric: Any, *labels: str) -> float:
    """What a counter or gauge says."""
    return metric.labels(*labels)._value.get()


def open_questions(metrics: Metrics) -> dict[str, float]:
    """The gauge, by age."""
    return {age: value(metrics.open_questions, "loan", age) for age in ("hour", "day", "week", "older")}


def measured(tape: Story) -> Metrics:
    """The metrics after a fold of everything."""
    metrics, config = Metrics(), ProcessorConfig(tape.run.directory / f"measured-{len(tape.journal)}")

    async def folded() -> None:
        processor = PartitionProcessor(tape.run.topics, tape.run.programs, tape.run.broker, metrics, no_clock, config)
        await processor.assigned([JOURNAL])
        await processor.handle(list(tape.journal))
        await processor.revoked([JOURNAL])

    asyncio.run(folded())
    return metrics


class KilledError(Exception):
    """A worker ends here."""


def test_the_default_deadline_changes_no_hash():
    spec = asking(asks={"deadline": "P7D"}).spec
    assert b"deadline" not in document(spec)
    assert spec_of(document(spec), spec.model.manifest) == spec
    assert b'"deadline":"P9D"' in document(asking(asks={"deadline": "P9D"}).spec)


COMPONENTS = ((0.8, [1.0, 1.0, 9.0, 9.0, 9.0]), (0.2, [1.0, 9.0, 1.0, 1.0, 1.0]))
"""To most people all but income is hard, to the others income."""
PRIOR = {"components": [{"probability": share, "mean": mean, "sd": 0.1} for share, mean in COMPONENTS]}


@pytest.mark.parametrize(("cost", "asks", "avoided"), [("causal", {"prior": PRIOR}, "income"), ("mixed", {}, "years")])
def test_what_people_answer_teaches_what_others_are_expected_to_avoid(tmp_path, monkeypatch, cost, asks, avoided):
    tape = story(tmp_path, monkeypatch, asking({"questions": 1, **asks}, policy={**POLICY, "cost": cost}))
    tape.applies("before", 0, POOR)
    for number in range(1, 41):
        tape.applies(f"n{number}", number, POOR)
        tape.fold()
        without = [
            option.id
            for option in tape.questions()[-1].options
            if avoided not in {change.feature for change in option.changes}
        ]
        tape.replies(f"n{number}", 1, number, without[0])
    tape.applies("after", 50, POOR)
    tape.tick(OVER_MS + 50)
    tape.fold()
    told = {recourse.application: recourse for recourse in tape.answers() if isinstance(recourse, Recourse)}
    first = {name: {change.feature for change in told[name].options[0].changes} for name in ("before", "after")}
    assert avoided in first["before"]
    assert avoided not in first["after"]
    assert told["before"].answers == told["after"].answers == ()


def test_only_those_asked_after_others_had_answered_hear_what_was_learned(tape):
    tape.applies("before", 0, POOR)
    tape.applies("teacher", 0, POOR)
    for number in (1, 2, 3):
        tape.replies("teacher", number, HOUR_MS)
    tape.applies("after", HOUR_MS, POOR)
    tape.tick(OVER_MS + HOUR_MS)
    tape.fold()
    sources = {
        recourse.application: recourse.execution_source for recourse in tape.answers() if isinstance(recourse, Recourse)
    }
    assert sources == {"before": "assumed", "teacher": "assumed", "after": "learned"}


def test_a_lesson_is_that_of_the_person_whose_answers_taught_it(tape, tmp_path):
    tape.applies("x", 0, POOR)
    tape.replies("x", 1, HOUR_MS)
    tape.applies("y", 9 * HOUR_MS, POOR)
    tape.tick(OVER_MS)
    program = tape.run.programs["loan"]
    with closing(JournalReplay(program, tape.run.topics, JOURNAL, tmp_path / "replay")) as replay:
        told = [one for record in tape.journal for one in replay.feed(record)] + list(replay.rest())
    assert [(one.key.application, one.kind, one.id) for one in told if isinstance(one, PreferenceUpdate)] == [
        ("x", "recourse", "recourse/loan/x")
    ]


def test_what_a_population_prefers_follows_from_the_first_spec_whatever_the_file_says():
    first = asking()
    fewer = [{**feature, "mutable": "none"} if feature["name"] == "savings" else feature for feature in FEATURES]
    begun = asking(features=fewer).begun_with(first.spec)
    ours, theirs = first.preferences(), begun.preferences()
    assert ours is not None
    assert theirs is not None
    assert (ours.shares == theirs.shares).all()
