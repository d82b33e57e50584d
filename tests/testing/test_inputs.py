"""The laws of every input about a case. Inputs that are broken on purpose break a law, which the kit names."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from onward.schemas.events import Answer, Application, Decision
from onward.schemas.kinds import kinds
from onward.streams.engine import handlers
from onward.streams.engine.observations import OBSERVATIONS
from onward.streams.engine.timing.timers import EVENT_TIME, Timer
from onward.testing import ContractError, check_input
from onward.tests.support.event_examples import EXAMPLES
from onward.tests.support.example_methods import OWN, module_of

PROGRAMS: Mapping[type, Mapping[str, Any]] = {
    Decision: {"decisions": "external"},
    Answer: {"policy": {"options": 2}},
}
"""What the programs have that get these events, where it is not usual."""
ABOUT_A_CASE = {
    type(event): event
    for event in reversed(EXAMPLES)
    if kinds.by_struct[type(event)] in kinds.of("input") and kinds.by_struct[type(event)].about == "case"
}
"""The first example of each input about a case."""


@pytest.mark.parametrize("struct", [struct for struct in ABOUT_A_CASE if struct is not Application])
def test_every_input_about_a_case_keeps_the_laws(struct):
    check_input(ABOUT_A_CASE[struct], program=PROGRAMS.get(struct, {}))


@pytest.fixture
def own() -> Iterator[SimpleNamespace]:
    """The input of docs/examples/own, while it is in use."""
    before = set(handlers.handlers), set(handlers.timer_handlers)
    module = module_of(OWN / "withdrawals.py")
    yield SimpleNamespace(**vars(module))
    for table, known in zip((handlers.handlers, handlers.timer_handlers), before, strict=True):
        handlers.discard(*[handler for kind, handler in table.items() if kind not in known])
    kinds.discard(kinds["withdrawal"], kinds["confirmation"])
    OBSERVATIONS.pop("withdrawals", None)


def confirms_later(self, entry, event, fold, due_ms):
    fold.remember(entry)
    fold.timers.set(Timer(event.program, "confirm", EVENT_TIME, due_ms, event.application))


def reads_a_clock(self, entry, event, fold):
    if fold.ready_case(entry) is None:
        fold.wait(entry)
    elif not fold.was_processed(entry):
        confirms_later(self, entry, event, fold, entry.time_ms + time.perf_counter_ns() % 100_000)


def forgets_what_it_has_processed(self, entry, event, fold):
    due_ms = entry.time_ms + 10 * 60 * 1000
    fold.timers.set(Timer(event.program, "confirm", EVENT_TIME, due_ms, event.application))


def waits_for_nothing(self, entry, event, fold):
    if fold.ready_case(entry) is None:
        self.give_up(entry, event, fold)
    elif not fold.was_processed(entry):
        confirms_later(self, entry, event, fold, entry.time_ms + 10 * 60 * 1000)


def does_nothing(self, entry, event, fold):
    pass


def keeps_it_to_itself(self, entry, event, fold):
    self.seen = [*getattr(self, "seen", ()), event]
    if fold.ready_case(entry) is None:
        fold.wait(entry)
    elif not fold.was_processed(entry):
        confirms_later(self, entry, event, fold, entry.time_ms + len(self.seen) * 60 * 1000)


def gives_up_silently(self, entry, event, fold):
    pass


BROKEN = {
    "the_journal_decides": ("apply", reads_a_clock),
    "a_repeat_changes_nothing": ("apply", forgets_what_it_has_processed),
    "it_may_come_first": ("apply", waits_for_nothing),
    "it_has_an_effect": ("apply", does_nothing),
    "the_journal_decides ": ("apply", keeps_it_to_itself),
    "it_is_given_up": ("give_up", gives_up_silently),
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_input_breaks_its_law(own, law, monkeypatch):
    check_input(own.Withdrawal("loan", "ada"))
    method, broken = BROKEN[law]
    monkeypatch.setattr(type(handlers.handlers["withdrawal"]), method, broken)
    with pytest.raises(ContractError, match=f"^Withdrawal breaks the law `{law.strip()}`"):
        check_input(own.Withdrawal("loan", "ada"))


def test_an_input_without_handler_or_count_is_named(own):
    del OBSERVATIONS["withdrawals"]
    with pytest.raises(ContractError, match="withdrawals"):
        check_input(own.Withdrawal("loan", "ada"))
    handlers.discard(handlers.handlers["withdrawal"])
    with pytest.raises(ContractError, match="no handler is of the kind withdrawal"):
        check_input(own.Withdrawal("loan", "ada"))
