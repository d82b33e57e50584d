"""The laws of every input about a case. Inputs that are broken on purpose break a law, which the kit names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from onward.schemas.events import Answer, Application, Decision
from onward.schemas.kinds import kinds
from onward.streams.engine import handlers
from onward.streams.engine.metrics import OBSERVATIONS
from onward.streams.engine.timing.timers import EVENT_TIME, Timer
from onward.testing import ContractError, check_input
from onward.testing.tape import DAY_MS
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
    if kinds.by_struct[type(event)] in kinds.of_flow("input") and kinds.by_struct[type(event)].about == "case"
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


def keeps_who_withdraws(self, entry, event, fold):
    if fold.ready_case(entry) is None:
        fold.wait(entry)
    elif not fold.was_processed(entry):
        self.pending = {*getattr(self, "pending", ()), event.application}
        confirms_later(self, entry, event, fold, entry.time_ms + 10 * 60 * 1000)


def confirms_who_is_kept(self, timer, fold):
    pending = vars(handlers.handlers["withdrawal"]).get("pending", set())
    if timer.key in pending:
        pending.remove(timer.key)
        event = kinds["confirmation"].structs[0](timer.program, timer.key)
        fold.emit(event, f"confirmation/{timer.program}/{timer.key}", timer.due, timer.program)


def notes_it_outside_the_ledger(self, entry, event, fold):
    noted = vars(fold.state.program(event.program).bundle).setdefault("noted", set())
    if fold.ready_case(entry) is None:
        fold.wait(entry)
    elif not fold.was_processed(entry) and entry.id not in noted:
        noted.add(entry.id)
        confirms_later(self, entry, event, fold, entry.time_ms + 10 * 60 * 1000)


def reminds_in_a_year(self, entry, event, fold):
    if fold.ready_case(entry) is None:
        fold.wait(entry)
    elif not fold.was_processed(entry):
        confirms_later(self, entry, event, fold, entry.time_ms + 10 * 60 * 1000)
        year_ms = 365 * DAY_MS
        fold.timers.set(Timer(event.program, "confirm", EVENT_TIME, entry.time_ms + year_ms, f"of {event.application}"))


BROKEN: list[tuple[str, dict[str, Callable[..., None]]]] = [
    ("it_has_an_effect", {"apply": does_nothing}),
    ("the_journal_decides", {"apply": reads_a_clock}),
    ("the_journal_decides", {"apply": keeps_it_to_itself}),
    ("a_restart_changes_nothing", {"apply": keeps_who_withdraws, "fire": confirms_who_is_kept}),
    ("a_crash_changes_nothing", {"apply": notes_it_outside_the_ledger}),
    ("a_repeat_changes_nothing", {"apply": forgets_what_it_has_processed}),
    ("it_may_come_first", {"apply": waits_for_nothing}),
    ("it_is_given_up", {"give_up": gives_up_silently}),
    ("who_is_erased_is_forgotten", {"apply": reminds_in_a_year}),
]


def test_the_input_that_the_broken_ones_come_from_keeps_the_laws(own):
    check_input(own.Withdrawal("loan", "ada"))


@pytest.mark.parametrize(
    ("law", "methods"), [pytest.param(*pair, id=next(iter(pair[1].values())).__name__) for pair in BROKEN]
)
def test_a_broken_input_breaks_its_law(own, law, methods, monkeypatch):
    for method, broken in methods.items():
        table = handlers.timer_handlers["confirm"] if method == "fire" else handlers.handlers["withdrawal"]
        monkeypatch.setattr(type(table), method, broken)
    with pytest.raises(ContractError, match=f"^Withdrawal breaks the law `{law}`") as found:
        check_input(own.Withdrawal("loan", "ada"))
    assert " it raised " not in str(found.value)


class Changeable(Struct):
    program: str
    application: str


class NamesNobody(Struct, frozen=True):
    program: str


class NeedsNothing(Struct, frozen=True):
    program: str = "loan"
    application: str = "ada"


class LosesAType(Struct, frozen=True):
    program: str
    application: str
    reasons: Any = ("moved",)


@pytest.mark.parametrize(
    ("law", "event"),
    [
        ("its_kind_is_in_the_table", Changeable("loan", "ada")),
        ("its_kind_is_in_the_table", NamesNobody("loan")),
        ("its_json_is_read_back", NeedsNothing()),
        ("its_json_is_read_back", LosesAType("loan", "ada")),
    ],
    ids=lambda given: "" if isinstance(given, str) else type(given).__name__,
)
def test_an_input_with_a_broken_struct_breaks_its_law(own, law, event):
    usual = kinds["withdrawal"]
    kinds.discard(usual)
    kinds.add(replace(usual, structs=(type(event),)))
    with pytest.raises(ContractError, match=f"^{type(event).__name__} breaks the law `{law}`") as found:
        check_input(event)
    assert " it raised " not in str(found.value)


def test_an_input_without_handler_or_count_is_named(own):
    del OBSERVATIONS["withdrawals"]
    with pytest.raises(ContractError, match="withdrawals"):
        check_input(own.Withdrawal("loan", "ada"))
    handlers.discard(handlers.handlers["withdrawal"])
    with pytest.raises(ContractError, match="no handler is of the kind withdrawal"):
        check_input(own.Withdrawal("loan", "ada"))
