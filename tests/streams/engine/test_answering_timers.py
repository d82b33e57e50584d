"""A timer answers people as a decision does, whatever was computed ahead for the entries around it.

The toy kind of these tests is an inquiry: whoever makes one is answered ten minutes later, in a program whose own model
decides.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from onward.schemas.events import NoRecourse, Outcome, Recourse
from onward.schemas.kinds import Kind, kinds
from onward.streams.engine import handlers
from onward.streams.engine.assessment import AssessedPerson, Assessment, assess
from onward.streams.engine.cases import AWAITING_DECISION, Case, Status
from onward.streams.engine.handlers import Handler, TimerHandler
from onward.streams.engine.replies import DecidedCase, Terms, answer_people
from onward.streams.engine.timing.timers import EVENT_TIME, Timer
from onward.streams.journal.entries import CaseKey
from onward.testing.ledger import dump
from onward.testing.pipeline import START_MS, PipelineRun
from onward.testing.tape import MINUTE_MS, POOR, RICH, TIMED, Tape, tape
from onward.tests.support.ledgers import cases


class Inquiry(msgspec.Struct, frozen=True):
    program: str
    application: str
    features: dict[str, str | float]


INQUIRY = Kind("inquiry", (Inquiry,), "What could I do?", "input", "inquiries", about="case")


class InquiryHandler(Handler):
    kind = "inquiry"

    def apply(self, entry, event, fold):
        if fold.case(entry.key) is not None:
            return
        program = fold.state.program(event.program)
        case = Case(entry.key, 0, AWAITING_DECISION, entry.time_ms, entry.id)
        case.features = msgspec.json.encode(event.features)
        case.wait(AWAITING_DECISION, fold.forget_ms(program, entry.time_ms, program.undecided_ms))
        fold.save(case)
        fold.timers.set(Timer(program.name, "reply", EVENT_TIME, entry.time_ms + 10 * MINUTE_MS, event.application))


class ReplyTimerHandler(TimerHandler):
    kind = "reply"
    answers = True

    def fire(self, timer, fold):
        program = fold.state.program(timer.program)
        model, case = fold.state.model(program), fold.case(CaseKey(timer.program, timer.key))
        case.time_ms = max(case.time_ms, timer.due)
        assessment = assess(program, model, {case.key: AssessedPerson(case.features)})[case.key]
        assert isinstance(assessment, Assessment)
        answer_people([DecidedCase(case, assessment.approved, assessment)], Terms(model), fold)


@pytest.fixture(autouse=True)
def _inquiries():
    handler, timer_handler = InquiryHandler(), ReplyTimerHandler()
    kinds.add(INQUIRY)
    handlers.add(handler, timer_handler)
    yield
    handlers.discard(handler, timer_handler)
    kinds.discard(INQUIRY)


def inquires(story: Tape, name: str, ms: int, features=POOR) -> None:
    story.send("inquiries", Inquiry("loan", name, features), ms, f"i-{name}")


def test_a_rejected_person_gets_options_and_an_approved_one_none(tmp_path):
    story = tape(tmp_path, **TIMED)
    inquires(story, "poor", 0)
    inquires(story, "rich", 0, RICH)
    story.tick(10 * MINUTE_MS)
    assert {case.status for case in cases(story.fold())} == {Status.AWAITING_DECISION}
    story.tick(10 * MINUTE_MS + 1)
    assert [case.status for case in cases(story.fold())] == [Status.OPEN, Status.APPROVED]
    [answer] = story.answers()
    assert isinstance(answer, Recourse)
    assert answer.application == "poor"
    assert answer.options


def test_what_waited_for_the_answer_is_applied_behind_it(tmp_path):
    story = tape(tmp_path, **TIMED)
    inquires(story, "poor", 0)
    story.send("outcomes", Outcome("loan", "poor", "improved"), 8 * MINUTE_MS, "o")
    story.tick(10 * MINUTE_MS + 1)
    assert [case.status for case in cases(story.fold())] == [Status.REWARDED]


WINDOWS = {"steps": {"steps": 2}, "time": {"time": "PT30M"}}


def told(folder, seed: int, **program) -> Tape:
    """People who apply and people who inquire, some with an outcome; a clock that leaps now and then."""
    random, story = np.random.default_rng(seed), tape(folder, **program)
    for number in range(60):
        features = {**POOR, "income": float(random.integers(5, 45)), "debts": int(random.integers(0, 6))}
        at_ms = number * MINUTE_MS
        if random.random() < 0.3:
            inquires(story, f"p{number}", at_ms, features)
        else:
            story.applies(f"p{number}", at_ms, features)
        if random.random() < 0.2:
            story.outcome(f"p{random.integers(0, number + 1)}", at_ms, id=f"o{number}")
        if random.random() < 0.2:
            story.tick(at_ms)
    story.tick(600 * MINUTE_MS)
    return story


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("choice", ["linucb", "posterior"])
@pytest.mark.parametrize("cut", [1, 7])
def test_answers_do_not_depend_on_where_the_journal_is_cut(tmp_path, window, choice, cut):
    # What a step explores depends on its number.
    policy = {"exploration": 0.5}
    story = told(tmp_path, 3, window=WINDOWS[window], choice=choice, candidates=24, policy=policy)
    expected = dump(story.fold())
    run = PipelineRun(story.run.programs, tmp_path / "cut")
    journal = story.journal
    ledger = asyncio.run(run.fold(journal, range(cut, len(journal), cut)))
    assert run.outputs() == story.run.outputs()
    assert dump(ledger) == expected
    answers = Counter(answer.application for answer in run.events("recourse", Recourse | NoRecourse))
    assert set(answers.values()) == {1}
    steps = [answer.step for answer in run.events("recourse", Recourse | NoRecourse)]
    assert all(later == earlier + 1 for earlier, later in pairwise(steps))
    by_timer = {record.timestamp_ms - START_MS for record in run.broker.logs["recourse", 0]}
    assert len(by_timer) < len(steps), "some were answered at one place of the journal"
