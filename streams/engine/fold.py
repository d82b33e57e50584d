"""The fold of one portion: the state and view that handlers read, and the effects they write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ...agents.options import Options
from ...schemas.encoding import Problem
from ...schemas.events import DeadLetter
from ...schemas.kinds import kinds
from ..journal.dead_letters import dead_letter_of_event
from ..journal.entries import CaseKey, Entry, JournalPosition
from ..outputs.emission import Emission, encode_event
from ..programs.program import Program
from .assessment import AssessedPerson, Assessment, SelectedOption
from .cases import CASE_TIMERS, WAITS, Case, is_about, processed_event, timer_of
from .portion import LedgerView, PortionChanges
from .program_state import ProgramState, Rows, RowTable
from .shards import Shard, ShardKey
from .state import PartitionState
from .timing.timers import FORGET_CASE, Timer, TimerQueue
from .timing.waiting import WaitingEvent

S = TypeVar("S", bound=ProgramState)
R = TypeVar("R", bound=Struct)

StepObserver = Callable[[Shard, Options, Sequence[tuple[int, float]]], None]
"""Called with each step that a shard takes: the person's options, and the arm and propensity of each picked one."""


class TimerKind(Protocol):
    """The part of a kind of timer that the fold uses (``contract.TimerHandler``)."""

    about_case: ClassVar[bool]
    answers: ClassVar[bool]

    def order(self, timer: Timer) -> tuple[Any, ...]:
        """The order of timers that are due at the same time."""
        ...


class ComputedAhead(Protocol):
    """Assessments and selections that were computed ahead for a segment (``selection.LookAhead``)."""

    def assessment(self, program: Program, position: JournalPosition, person: AssessedPerson) -> Assessment | Problem:
        """The assessment of the person at this position."""
        ...

    def select(
        self, program: Program, shard: Shard, position: JournalPosition, assessment: Assessment
    ) -> tuple[SelectedOption, ...]:
        """The options of the step that the person at this position takes."""
        ...


class Fold:
    """Collects the effects of a portion. Every output has the journal position of the entry that is being folded.

    ``ahead`` is what was computed ahead for the segment that is being folded. Nothing that a fold holds refers to it,
    so that it is gone with its portion, without a collection of garbage.
    """

    entry: Entry
    last_known: int = -1
    """The highest offset of the entry's input partition before it; -1 without one."""
    ahead: ComputedAhead

    def __init__(
        self,
        state: PartitionState,
        view: LedgerView,
        timer_kinds: Mapping[str, TimerKind],
        observe_step: StepObserver | None = None,
    ) -> None:
        self.state = state
        self.view = view
        self.effects = PortionChanges()
        self.observe_step = observe_step
        self.cases: dict[CaseKey, Case | None] = dict(view.cases)
        self.timers = TimerQueue(
            {name: kind.order for name, kind in timer_kinds.items()},
            CASE_TIMERS,
            [name for name, kind in timer_kinds.items() if kind.answers],
            lambda program: state.program(program).watermark,
            view.steps_read,
        )
        self._about_case = {name for name, kind in timer_kinds.items() if kind.about_case}
        self._timers_before = {key: timer_of(case) for key, case in view.cases.items()}
        self._number = 0
        self._read_cases_of(view.timers)
        for timer in view.timers:
            self.timers.load(timer)

    def end(self) -> PortionChanges:
        """The effects of the portion. Each case that has changed has the timer that follows from what it is now."""
        timers, timers_before = self.timers.changed, self._timers_before
        for key, case in self.effects.cases.items():
            before, timer = timers_before.get(key), None if case is None else timer_of(case)
            if before != timer:
                if before is not None:
                    timers[before] = False
                if timer is not None:
                    timers[timer] = True
        self.effects.timers = timers
        return self.effects

    def begin(self, entry: Entry) -> None:
        """Start the next entry. Outputs are numbered within their journal record."""
        if entry.position.line == 0:
            self._number = 0
        self.entry = entry

    # --- the state of programs -------------------------------------------------------------------------------------

    def change_spec(self, program: Program) -> None:
        """Put a program under another spec, with all that it knows."""
        self.state.change(program)
        self.effects.specs.add(program.name)
        self.effects.shards.update(shard.key for shard in self.state.shards_of(program))
        for kind, states in self.state.states.items():
            self.effects.states[kind].update(dict.fromkeys(key for key in states if key.program == program.name))

    def change(self, kind: type[S], program: Program, shard: int = 0) -> S:
        """The state of a kind, to change it; a new one where there is none. What a program has once has the shard 0."""
        states, key = self.state.states.setdefault(kind, {}), ShardKey(program.name, shard)
        state: S | None = states.get(key)
        if state is None:
            state = states[key] = kind()
            state.begin(program)
        self.effects.states[kind][key] = None
        return state

    def rows(self, table: RowTable[R]) -> Rows[R]:
        """The rows of a table, to read and change them."""
        rows = self.effects.rows.get(table)
        if rows is None:
            rows = self.effects.rows[table] = Rows(table, self.view.rows)
        return rows

    # --- cases -----------------------------------------------------------------------------------------------------

    def case(self, key: CaseKey) -> Case | None:
        """A case that is known and not forgotten."""
        case = self.cases.get(key)
        if case is None or WAITS[case.status].timer is not FORGET_CASE:
            return case
        return None if self.state.has_forgotten(self.state.program(key.program), case.due) else case

    def read_cases(self, program: str, applications: Iterable[str]) -> dict[str, Case]:
        """Cases of a program by their names, also those that were not known to be needed; without the forgotten."""
        keys = [CaseKey(program, application) for application in applications]
        absent = [key.application for key in keys if key not in self.cases]
        for case in self.view.read_cases(program, absent) if absent else ():
            self.cases[case.key], self._timers_before[case.key] = case, timer_of(case)
        read = ((key.application, self.case(key)) for key in keys)
        return {name: case for name, case in read if case is not None}

    def cases_naming(self, program: str, text: str) -> list[Case]:
        """The cases of a program that name this application or applicant, by the names of the cases.

        The entry must have declared it (``Footprint.may_touch_all_of``), or read them (``read_naming``).
        """
        known = [self.case(key) for key in self.cases if key.program == program]
        naming = [
            case for case in known if case is not None and text in (case.key.application, case.applicant, case.previous)
        ]
        return sorted(naming, key=lambda case: case.key)

    def read_naming(self, program: str, names: Collection[str]) -> None:
        """Read the cases that name one of these applications or applicants, which no entry could declare."""
        for case in self.view.read_naming(program, names):
            if case.key not in self.cases:
                self.cases[case.key], self._timers_before[case.key] = case, timer_of(case)

    def read_steps(self, shard: tuple[str, int], first: int, until: int) -> Sequence[Timer]:
        """Timers of a shard's steps that are at rest, with their cases."""
        timers = list(self.view.read_steps(shard, first, until))
        self._read_cases_of(timers)
        return timers

    def _read_cases_of(self, timers: Iterable[Timer]) -> None:
        named = defaultdict[str, set[str]](set)
        for timer in timers:
            if timer.kind in self._about_case:
                named[timer.program].add(timer.key)
        for program, applications in named.items():
            self.read_cases(program, applications)

    def ready_case(self, entry: Entry) -> Case | None:
        """The case of an entry; None until it has what the entry's kind waits for."""
        case, waits_for = self.case(entry.key), entry.kind.waits_for
        is_early = case is not None and waits_for is not None and WAITS[case.status].lacks == waits_for
        return None if is_early else case

    def save(self, case: Case) -> None:
        """Write a case that is new or has changed. Its timer follows from it."""
        key = case.key
        self.cases[key] = self.effects.cases[key] = case
        if WAITS[case.status].timer is not FORGET_CASE:
            self.timers.load(timer_of(case))

    def delete(self, case: Case) -> None:
        """Delete a case."""
        self.cases[case.key] = self.effects.cases[case.key] = None

    def forget_ms(self, program: Program, time_ms: int, kept_ms: int | None = None) -> int:
        """When a case or event that ended at this time is forgotten.

        Retention begins at the watermark at the earliest: otherwise a late event would be forgotten at once.
        """
        watermark_ms = self.state.watermark_ms(program)
        begins_ms = time_ms if watermark_ms is None else max(time_ms, watermark_ms)
        return begins_ms + (program.retention_ms if kept_ms is None else kept_ms)

    def begin_ms(self, key: CaseKey, time_ms: int, length_ms: int, program: Program) -> int:
        """The event time from which a window, promise or question of this length counts that the entry begins.

        That is ``time_ms``; the watermark where it would be over already, as it is for history that is sent again: a
        window that nothing could fall into says nothing about the person.
        """
        watermark_ms = self.state.watermark_ms(program)
        if watermark_ms is None or self.entry.key != key:
            return time_ms
        is_over = max(time_ms, self.entry.time_ms) + length_ms + program.lateness_ms < watermark_ms
        return watermark_ms if is_over else time_ms

    # --- events without a case -------------------------------------------------------------------------------------

    def was_processed(self, entry: Entry) -> bool:
        """Whether this event ended without a case before."""
        event = processed_event(entry)
        forget_ms = self.effects.processed.get(event, self.view.processed.get(event))
        return forget_ms is not None and not self.state.has_forgotten(self.state.program(event.program), forget_ms)

    def remember(self, entry: Entry) -> None:
        """Remember an event that ended without a case, so that its repeat is recognised."""
        event = processed_event(entry)
        program = self.state.program(event.program)
        before = self.effects.processed.get(event, self.view.processed.get(event))
        if before is not None:
            self.timers.cancel(event.timer(before))
        self.effects.processed[event] = forget_ms = self.forget_ms(program, entry.time_ms)
        self.timers.set(event.timer(forget_ms))

    def forget_processed(self, key: CaseKey) -> None:
        """Forget the events of an application that ended without a case."""
        processed = {**self.view.read_processed(key), **self.effects.processed}
        for event, forget_ms in processed.items():
            if forget_ms is not None and is_about(event, key):
                self.timers.cancel(event.timer(forget_ms))
                self.effects.processed[event] = None

    def wait(self, entry: Entry) -> None:
        """Put an event on the waiting list until its application or recourse comes."""
        waiting = self.state.waiting
        if waiting.holds(entry):
            self.count("duplicates", entry.kind.name)
            return
        if waiting.full:
            detail = f"{waiting.limit} events wait for what they refer to already (setting waiting_limit)"
            self.dead_letter(entry, "waiting_list_full", detail)
            return
        # One lateness for the difference between input clocks, one for an application that is itself late.
        expires_ms = entry.time_ms + 2 * self.state.program(entry.key.program).lateness_ms
        event = WaitingEvent(_copied(entry), expires_ms)
        waiting.add(event)
        self.effects.waiting[entry.position] = event
        self.timers.set(event.timer)

    def take_waiting(self, key: CaseKey) -> Iterable[Entry]:
        """Take the events that wait for a case: by the order of their kinds in the table, else as they came."""
        events = self.state.waiting.take(key)
        for event in events:
            self.effects.waiting[event.entry.position] = None
            self.timers.cancel(event.timer)
        return sorted([event.entry for event in events], key=lambda entry: kinds.index(entry.kind.name))

    def give_up_waiting(self, timer: Timer) -> Entry:
        """Take the event whose ``wait`` timer has fired."""
        entry = self.state.waiting.give_up(timer)
        self.effects.waiting[entry.position] = None
        return entry

    # --- outputs ---------------------------------------------------------------------------------------------------

    def emit(self, event: Struct, identity: str, time_ms: int, program: str = "", shard: int = 0) -> None:
        """Publish an event caused by the entry that is being folded."""
        entry, number = self.entry, self._number
        self._number = number + 1
        source, key = self.state.programs[program].addresses[shard] if program else ("onward", None)
        sent = time_ms, entry.timestamp_ms, type(event), encode_event(event)
        self.effects.emissions.append(Emission(entry.position.offset, number, identity, program, source, key, *sent))

    def dead_letter(self, entry: Entry, reason: str, detail: str) -> None:
        """Publish a dead letter for an event that cannot be applied."""
        letter = dead_letter_of_event(entry.id, entry.source, entry.source_offset, bytes(entry.raw), reason, detail)
        self.publish_dead_letter(letter, entry.time_ms)

    def publish_dead_letter(self, letter: DeadLetter, time_ms: int) -> None:
        """Publish a dead letter."""
        self.count("dead_letters", letter.reason, times=1 if letter.count is UNSET else letter.count)
        self.emit(letter, f"dead-letter/{letter.topic}/{letter.partition}/{letter.offset}", time_ms)

    def count(self, name: str, *labels: str, times: float = 1) -> None:
        """Count for the metrics: a counter of ``OBSERVATIONS``, its labels, and how much is added."""
        self.effects.counts[name, *labels] += times

    def observe(self, name: str, value: float, program: str) -> None:
        """Observe a value for the metrics: a histogram of ``OBSERVATIONS``."""
        self.effects.observed[name, program].append(value)


def _copied(entry: Entry) -> Entry:
    """The same, without the journal record that its JSON is a part of."""
    raw = entry.raw.copy()
    return replace(entry, raw=raw, body=entry.kind.decode_body(raw))
