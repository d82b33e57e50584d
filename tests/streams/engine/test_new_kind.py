"""An added kind of event needs one table entry and one handler.

Example: a withdrawal, confirmed ten minutes later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from onward.schemas.kinds import Kind, kinds
from onward.streams.cli import show
from onward.streams.engine import handlers
from onward.streams.engine.handlers import Handler, TimerHandler
from onward.streams.engine.timers import EVENT_TIME, Timer
from onward.streams.replay.history import History
from onward.streams.worker.partition_processor import Stage
from onward.tests.support.tape import MINUTE_MS, TIMED, tape


class CrashError(Exception):
    """A worker ends here."""


class Withdrawal(msgspec.Struct, frozen=True):
    program: str
    application: str


class Confirmation(msgspec.Struct, frozen=True):
    program: str
    application: str


WITHDRAWAL = Kind(
    "withdrawal", (Withdrawal,), "A person withdraws", "input", "withdrawals", about="case", waits_for="application"
)
CONFIRMATION = Kind("confirmation", (Confirmation,), "A withdrawal is final", "output", "confirmations")


class WithdrawalHandler(Handler):
    kind = "withdrawal"

    def touch(self, entry, footprint):
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)

    def apply(self, entry, event, fold, ahead):
        if fold.was_processed(entry):
            fold.count("duplicates", "withdrawal")
        elif fold.ready_case(entry) is None:
            fold.wait(entry)
        else:
            fold.remember(entry)
            due_ms = entry.time_ms + 10 * MINUTE_MS
            fold.timers.set(Timer(event.program, "confirm", EVENT_TIME, due_ms, event.application))

    def give_up(self, entry, event, fold):
        fold.dead_letter(entry, "withdrawal_without_application", "no such application came before it")


class ConfirmTimerHandler(TimerHandler):
    kind = "confirm"

    def fire(self, timer, fold):
        event = Confirmation(timer.program, timer.key)
        fold.emit(event, f"confirmation/{timer.program}/{timer.key}", timer.due, timer.program)


@pytest.fixture
def story(tmp_path) -> Iterator:
    handler, timer_handler = WithdrawalHandler(), ConfirmTimerHandler()
    kinds.add(WITHDRAWAL, CONFIRMATION)
    handlers.add(handler, timer_handler)
    yield tape(tmp_path, **TIMED)
    handlers.discard(handler, timer_handler)
    kinds.discard(WITHDRAWAL, CONFIRMATION)


def withdraws(story, name, ms, id=None):
    return story.send("withdrawals", Withdrawal("loan", name), ms, id or f"w-{name}")


def confirmations(story):
    return [event.application for event in story.run.events("confirmations", Confirmation)]


def test_a_withdrawal_reaches_its_output_topic(story):
    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    story.tick(12 * MINUTE_MS)
    story.fold()
    [output] = story.run.broker.logs["confirmations", 0]
    headers = dict(output.headers)
    assert confirmations(story) == ["p0"]
    assert headers["ce_type"] == b"onward.confirmation.v1"
    assert headers["onward_position"]
    assert msgspec.json.decode(output.value, type=Confirmation) == Confirmation("loan", "p0")


def test_a_repeat_is_dropped(story):
    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    withdraws(story, "p0", 2 * MINUTE_MS)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == ["p0"]


def test_a_record_appended_twice_is_dropped(story):
    story.applies("p0")
    record = withdraws(story, "p0", MINUTE_MS)
    story.again(record)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == ["p0"]


def test_a_withdrawal_waits_for_its_application(story):
    withdraws(story, "p0", 0)
    story.applies("p0", MINUTE_MS)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == ["p0"]
    assert story.reasons() == []


def test_a_withdrawal_without_application_is_a_dead_letter(story):
    withdraws(story, "nobody", 0)
    story.applies("p0", MINUTE_MS)
    story.tick(60 * MINUTE_MS)
    story.fold()
    assert confirmations(story) == []
    assert story.reasons() == ["withdrawal_without_application"]


def test_it_is_part_of_an_application_s_history_whatever_comes_at_the_same_time(story):
    sent = [story.applies("p0"), withdraws(story, "p0", 0), story.outcome("p0", 0)]
    story.tick(12 * MINUTE_MS)
    story.fold()
    history = History("p0", "loan", story.run.topics)
    records = [record for log in story.run.broker.logs.values() for record in log]
    for record in [*records, *sent]:
        history.feed(record)
    told = [happening.kind for happening in history.happenings]
    assert told == [
        "application", "model-decision", "recourse", "outcome", "reward", "withdrawal", "confirmation",
    ]  # fmt: skip
    [words] = show._in_words(history.happenings[5])
    assert "withdrawal     withdrawals/0@0" in words


def test_a_withdrawal_timer_survives_a_restart(story):
    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    before = len(story.journal)
    story.tick(5 * MINUTE_MS)
    story.tick(12 * MINUTE_MS)
    story.fold(parts=[story.journal[:before], story.journal[before:]])
    assert confirmations(story) == ["p0"]


def test_a_confirmation_that_was_published_before_a_crash_is_not_published_again(story):
    def crash(stage):
        if stage is Stage.OUTPUTS_ACKNOWLEDGED:
            raise CrashError

    story.applies("p0")
    withdraws(story, "p0", MINUTE_MS)
    story.tick(12 * MINUTE_MS)
    with pytest.raises(CrashError):
        asyncio.run(story.folded("ledger", [story.journal], crash))
    assert confirmations(story) == ["p0"]
    story.fold()
    assert confirmations(story) == ["p0"]
