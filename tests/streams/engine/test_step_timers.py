"""Timers in steps that an added kind of event sets."""

import msgspec
import pytest

from onward.schemas.kinds import Kind, kinds
from onward.streams.engine import handlers
from onward.streams.engine.handlers import Handler, TimerHandler
from onward.streams.engine.timing.timers import Timer
from onward.testing.tape import tape


class Audit(msgspec.Struct, frozen=True):
    program: str
    application: str


class Audited(msgspec.Struct, frozen=True):
    program: str
    application: str


AUDIT = Kind("audit", (Audit,), "Asks for a report at a step", "input", "audits", about="case")
AUDITED = Kind("audited", (Audited,), "The report", "output", "audited")


class AuditHandler(Handler):
    kind = "audit"

    def apply(self, entry, event, fold):
        fold.timers.set(Timer(event.program, "audit", 0, 1, event.application))


class AuditTimerHandler(TimerHandler):
    kind = "audit"
    about_case = False

    def fire(self, timer, fold):
        fold.emit(Audited(timer.program, timer.key), f"audited/{timer.key}", fold.entry.time_ms, timer.program)


@pytest.fixture
def story(tmp_path):
    handler, timer_handler = AuditHandler(), AuditTimerHandler()
    kinds.add(AUDIT, AUDITED)
    handlers.add(handler, timer_handler)
    yield tape(tmp_path)
    handlers.discard(handler, timer_handler)
    kinds.discard(AUDIT, AUDITED)


def test_a_timer_of_a_shard_that_has_not_answered_yet_fires_at_its_step_whatever_the_cut(story):
    story.send("audits", Audit("loan", "x"), 0, "audit")
    story.applies("first", 1)
    story.applies("second", 2)
    journal = story.journal
    for cut in range(1, len(journal)):
        story.run.broker.logs["audited", 0] = []
        story.fold(f"cut {cut}", [journal[:cut], journal[cut:]])
        [record] = story.run.broker.logs["audited", 0]
        assert dict(record.headers)["onward_position"].startswith(b"%d." % journal[-1].offset)
