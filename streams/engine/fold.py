"""The fold of one portion: the state and view that handlers read, and the effects they write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from ...agents.options import Options
from ...schemas.events import DeadLetter
from ...schemas.kinds import kinds
from ..journal.dead_letters import dead_letter_of_event
from ..journal.entries import CaseKey, Entry, JournalPosition
from ..outputs.emission import Emission, encode_event
from ..programs.bundle.loader import ModelBundle
from ..programs.program import Program
from .cases import Case, ProcessedEvent, processed_event
from .effects import Effects
from .promises.recourse import OpenRecourse
from .promises.state import ProgramPromises
from .rounds.promised_scores import PromisedScore
from .rounds.state import ProgramRounds
from .shared_evidence import SharedEvidence
from .state import PartitionState, Shard
from .timers import Order, Timer, TimerQueue, forget_event, promise_end, timer_of
from .waiting import WaitingEvent
from .watermark import Move


class Footprint:
    """What a portion may touch, as the handlers of its entries declare it.

    ``cases`` and ``processed`` are names by program, ``steps`` those of the cases that may take a step: one at most.
    """

    def __init__(self) -> None:
        self.cases: defaultdict[str, set[str]] = defaultdict(set)
        self.processed: defaultdict[str, set[str]] = defaultdict(set)
        self.steps: defaultdict[str, set[str]] = defaultdict(set)
        self.moves: list[Move] = []

    def may_touch_case(self, key: CaseKey) -> None:
        """An entry may read or change this case."""
        self.cases[key.program].add(key.application)

    def may_repeat(self, entry: Entry) -> None:
        """An entry may be a repeat of an event that ended without a case."""
        program, event = processed_event(entry)
        self.processed[program].add(event)

    def may_step(self, key: CaseKey) -> None:
        """An entry may let this case take a step of its shard."""
        self.steps[key.program].add(key.application)


@dataclass(frozen=True)
class LedgerView:
    """The ledger rows that a portion may read or change.

    ``cases`` are by key. ``timers`` are those that may fire. ``processed`` maps each processed event to the time at
    which it is forgotten. ``models`` are the bundles that the portion's model events announce. ``read_cases`` reads
    cases of a program by their names, for scans, whose pieces are known only when they are due. ``read_promised`` reads
    a program's open recourses by the names of applications, and by that of an applicant; ``read_uncertain`` the first
    ones whose path limit is at most some length, in the order of the limits, and by name.
    """

    cases: Mapping[CaseKey, Case] = field(default_factory=dict)
    timers: Sequence[Timer] = ()
    processed: Mapping[ProcessedEvent, int] = field(default_factory=dict)
    models: Mapping[JournalPosition, ModelBundle] = field(default_factory=dict)
    read_cases: Callable[[str, Sequence[str]], Iterable[Case]] = lambda program, applications: ()  # noqa: ARG005
    read_promised: Callable[[str, Sequence[str], str | None], Iterable[OpenRecourse]] = lambda *_: ()
    read_uncertain: Callable[[str, float, int], Sequence[OpenRecourse]] = lambda *_: ()


StepObserver = Callable[[Shard, Options, Sequence[tuple[int, float]]], None]
"""Called with each step that a shard takes: the person's options, and the arm and propensity of each picked one."""


class Fold:
    """Collects the effects of a portion. Every output has the journal position of the entry that is being folded."""

    def __init__(
        self,
        state: PartitionState,
        view: LedgerView,
        orders: Mapping[str, Order],
        observe_step: StepObserver | None = None,
    ) -> None:
        self.state = state
        self.view = view
        self.effects = Effects()
        self.observe_step = observe_step
        self.cases = dict(view.cases)
        self.timers = TimerQueue(orders, lambda program: state.program(program).watermark)
        self._timers_before = {key: timer_of(case) for key, case in view.cases.items()}
        self._promised_to: defaultdict[tuple[str, str], set[CaseKey]] = defaultdict(set)
        self._number = 0
        for timer in view.timers:
            self.timers.load(timer)

    def end(self) -> Effects:
        """The effects of the portion. Each case that has changed has the timer that follows from what it is now."""
        timers, timers_before = self.timers.changed, self._timers_before
        for key, case in self.effects.cases.items():
            before, timer = timers_before.get(key), timer_of(case)
            if before != timer:
                if before is not None:
                    timers[before] = False
                timers[timer] = True
        self.effects.timers = timers
        return self.effects

    def begin(self, entry: Entry) -> None:
        """Start the next entry. Outputs are numbered within their journal record."""
        if entry.position.line == 0:
            self._number = 0
        self.entry = entry

    def change(self, program: Program) -> None:
        """Put a program under another spec, with all that it knows."""
        self.state.change(program)
        self.effects.specs.add(program.name)
        self.effects.shards.update(one.key for one in self.state.shards_of(program))
        if program.name in self.state.shared:
            self.effects.shared.add(program.name)

    def shared(self, program: Program) -> SharedEvidence:
        """What the shards of a program have told each other, to change it."""
        self.effects.shared.add(program.name)
        return self.state.shared_of(program)

    # --- cases -----------------------------------------------------------------------------------------------------

    def case(self, key: CaseKey) -> Case | None:
        """A case that is known and not forgotten."""
        case = self.cases.get(key)
        if case is None or case.forget_ms is None:
            return case
        return None if self.state.has_forgotten(self.state.program(key.program), case.forget_ms) else case

    def read_cases(self, program: Program, applications: Iterable[str]) -> Iterator[Case]:
        """Cases of a program by their names, also those that were not known to be needed; without the forgotten."""
        keys = [CaseKey(program.name, application) for application in applications]
        absent = [key.application for key in keys if key not in self.cases]
        for case in self.view.read_cases(program.name, absent):
            self.cases[case.key], self._timers_before[case.key] = case, timer_of(case)
        return filter(None, map(self.case, keys))

    def ready_case(self, entry: Entry) -> Case | None:
        """The case of an entry, None while it has not what the entry's kind waits for."""
        case = self.case(entry.key)
        return None if case is not None and case.is_undecided and entry.kind.waits_for == "decision" else case

    def save(self, case: Case) -> None:
        """Write a case that is new or has changed. Its timer follows from it."""
        key = case.key
        self.cases[key] = self.effects.cases[key] = case
        if case.forget_ms is None:
            self.timers.load(timer_of(case))

    def forget_ms(self, program: Program, time_ms: int, kept_ms: int | None = None) -> int:
        """When a case or event that ended at this time is forgotten.

        Retention begins at the watermark at the earliest: otherwise a late event would be forgotten at once.
        """
        watermark_ms = self.state.watermark_ms(program)
        begins_ms = time_ms if watermark_ms is None else max(time_ms, watermark_ms)
        return begins_ms + (program.retention_ms if kept_ms is None else kept_ms)

    # --- rounds ----------------------------------------------------------------------------------------------------

    def rounds(self, program: Program) -> ProgramRounds:
        """The rounds of a program, to change them."""
        self.effects.rounds.add(program.name)
        return self.state.rounds_of(program)

    def open_promised_score(self, promise: PromisedScore) -> None:
        """Promise a score. Another promise of its applicant has been ended before."""
        self.state.rounds[promise.key.program].promised_scores.add(promise)
        self.effects.promises[promise.key] = promise

    def end_promised_score(self, promise: PromisedScore) -> None:
        """The promise of a score has ended."""
        self.state.rounds[promise.key.program].promised_scores.remove(promise)
        self.effects.promises[promise.key] = None

    # --- promises --------------------------------------------------------------------------------------------------

    def promises(self, program: Program) -> ProgramPromises:
        """The promises of a program, to change them."""
        self.effects.promised.add(program.name)
        return self.state.promises_of(program)

    def recourse(self, key: CaseKey) -> OpenRecourse | None:
        """The open options of an application."""
        return next(iter(self._promised(key.program, [key.application])), None)

    def promised(self, program: Program, case: Case) -> OpenRecourse | None:
        """The open recourse that a case comes back with: that of the application it names, or its applicant's newest.

        An application of another applicant is not meant.
        """
        named = [case.previous] if case.previous is not None else []
        if not named and case.applicant is None:
            return None
        found = [
            recourse
            for recourse in self._promised(program.name, named, case.applicant)
            if None in (recourse.applicant, case.applicant) or recourse.applicant == case.applicant
        ]
        return max(
            found,
            key=lambda one: (one.key.application == case.previous, one.until_ms, one.key.application),
            default=None,
        )

    def uncertain(self, program: Program, path: float, most: int) -> list[OpenRecourse]:
        """The first open recourses whose path limit is at most this length."""
        changed = {
            key.application: recourse
            for key, recourse in self.effects.promises.items()
            if key.program == program.name and not isinstance(recourse, PromisedScore)
        }
        at_rest = self.view.read_uncertain(program.name, path, most + len(changed))
        found = [recourse for recourse in at_rest if recourse.key.application not in changed]
        found += [recourse for recourse in changed.values() if recourse is not None and recourse.path_limit <= path]
        return sorted(found, key=lambda recourse: (recourse.path_limit, recourse.key.application))[:most]

    def open_recourse(self, program: Program, recourse: OpenRecourse) -> None:
        """Options are open until their time is over."""
        self.promises(program).count_opened(recourse)
        self._change_recourse(recourse)
        self.timers.set(promise_end(*recourse.key, recourse.until_ms))

    def replace_recourse(self, program: Program, old: OpenRecourse, new: OpenRecourse) -> None:
        """The open options of a person have changed, or none is left."""
        record = self.promises(program).record
        record.open[old.shard] += len(new.options) - len(old.options)
        if old.until_ms != new.until_ms or not new.options:
            self.timers.cancel(promise_end(*old.key, old.until_ms))
        if new.options:
            self._change_recourse(new)
        else:
            self.effects.promises[new.key] = None
        if old.until_ms != new.until_ms and new.options:
            record.latest_ms = max(record.latest_ms, new.until_ms)
            self.timers.set(promise_end(*new.key, new.until_ms))

    def end_recourse(self, program: Program, recourse: OpenRecourse) -> None:
        """The options of a person are not open any more."""
        self.promises(program).count_ended(recourse)
        self.effects.promises[recourse.key] = None
        self.timers.cancel(promise_end(*recourse.key, recourse.until_ms))

    def _promised(self, program: str, applications: Sequence[str], applicant: str | None = None) -> list[OpenRecourse]:
        changed = self.effects.promises
        found = [one for one in self.view.read_promised(program, applications, applicant) if one.key not in changed]
        named = {CaseKey(program, application) for application in applications}
        recent = named if applicant is None else named | self._promised_to[program, applicant]
        for one in map(changed.get, sorted(recent)):
            # A name may have been used again by another applicant.
            if isinstance(one, OpenRecourse) and (one.key in named or one.applicant == applicant):
                found.append(one)
        return found

    def _change_recourse(self, recourse: OpenRecourse) -> None:
        self.effects.promises[recourse.key] = recourse
        if recourse.applicant is not None:
            self._promised_to[recourse.key.program, recourse.applicant].add(recourse.key)

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
            self.timers.cancel(forget_event(event, before))
        self.effects.processed[event] = forget_ms = self.forget_ms(program, entry.time_ms)
        self.timers.set(forget_event(event, forget_ms))

    def wait(self, entry: Entry) -> None:
        """Put an event on the waiting list until its application or recourse comes."""
        waiting, kind = self.state.waiting, entry.kind.name
        if waiting.holds(entry.key, kind, entry.id):
            self.count("duplicates", kind)
            return
        if waiting.full:
            detail = f"{waiting.limit} events wait for what they refer to already (setting waiting_limit)"
            self.dead_letter(entry, "waiting_list_full", detail)
            return
        # One lateness for the difference between input clocks, one for an application that is itself late.
        expires_ms = entry.time_ms + 2 * self.state.program(entry.key.program).lateness_ms
        event = WaitingEvent.of(entry, expires_ms)
        waiting.add(event)
        self.effects.waiting[event.position] = event
        self.timers.set(event.timer)

    def take_waiting(self, key: CaseKey) -> Iterable[Entry]:
        """Take the events that wait for a case: by the order of their kinds in the table, else as they came."""
        events = self.state.waiting.take(key)
        for event in events:
            self.effects.waiting[event.position] = None
            self.timers.cancel(event.timer)
        return [event.entry for event in sorted(events, key=lambda event: kinds.index(event.kind))]

    def give_up_waiting(self, timer: Timer) -> Entry:
        """Take the event whose ``wait`` timer has fired."""
        event = self.state.waiting.give_up(timer)
        self.effects.waiting[event.position] = None
        return event.entry

    # --- outputs ---------------------------------------------------------------------------------------------------

    def emit(self, event: Struct, identity: str, time_ms: int, program: str = "", shard: int = 0) -> None:
        """Publish an event caused by the entry that is being folded."""
        entry, number = self.entry, self._number
        self._number = number + 1
        source, key = self.state.programs[program].addresses[shard] if program else ("onward", None)
        self.effects.emissions.append(
            Emission(
                entry.position.offset,
                number,
                identity,
                program,
                source,
                key,
                time_ms,
                entry.timestamp_ms,
                type(event),
                encode_event(event),
            )
        )

    def dead_letter(self, entry: Entry, reason: str, detail: str) -> None:
        """Publish a dead letter for an event that cannot be applied."""
        letter = dead_letter_of_event(entry.id, entry.source, entry.source_offset, bytes(entry.raw), reason, detail)
        self.publish_dead_letter(letter, entry.time_ms)

    def publish_dead_letter(self, letter: DeadLetter, time_ms: int) -> None:
        """Publish a dead letter."""
        self.count("dead_letters", letter.reason)
        self.emit(letter, f"dead-letter/{letter.topic}/{letter.partition}/{letter.offset}", time_ms)

    def count(self, name: str, label: str = "", detail: str = "", times: int = 1) -> None:
        """Count for the metrics: a name of ``COUNTS``, and its labels."""
        self.effects.counts[name, label, detail] += times
