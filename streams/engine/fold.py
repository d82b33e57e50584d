"""A fold under way: the state, what the ledger holds of the cases concerned, and the effects so far."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...schemas.events import DeadLetter, Decision, Outcome, Output, Reward
from ..errors import LedgerError
from ..journal.dead_letters import dead_letter_of_event
from ..journal.journal import CaseKey, Entry, shard_of
from ..outputs.emission import Emission
from ..programs.program import Program
from .cases import Case, ProcessedEvent, Waiting
from .effects import Effects
from .state import PartitionState, Shard, ShardKey
from .watermark import Decider


@dataclass(frozen=True)
class LedgerView:
    """What the ledger holds of what a chunk may touch: cases by key, open cases whose window may close (those of
    windows of steps by step), and when settled events are forgotten, by name."""

    cases: dict[CaseKey, Case] = field(default_factory=dict)
    due: Sequence[Case] = ()
    settled: Mapping[ProcessedEvent, int] = field(default_factory=dict)


def processed_event_of(entry: Entry) -> ProcessedEvent:
    """What names a decision or outcome that ended without a case; a ``ce_id`` alone is unique for its sender only."""
    body = entry.body
    assert isinstance(body, Decision | Outcome), f"{type(body).__name__} cannot be settled"
    return ProcessedEvent(body.program, joined(type(body).__name__, body.application, entry.id))


def joined(*names: str) -> str:
    """Names as one, different for different names whatever characters they hold."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)


class Fold:
    """Gathers effects. Every output takes the journal position of the entry that is being folded."""

    def __init__(self, state: PartitionState, view: LedgerView) -> None:
        self.state = state
        self.view = view
        self.effects = Effects()
        self.number = 0
        self.cases = dict(view.cases)
        self.closing: dict[Decider, list[tuple[int, CaseKey, int, Case]]] = {"model": [], "external": []}
        self.open_steps: defaultdict[ShardKey, deque[Case]] = defaultdict(deque)
        for case in view.due:
            self.cases[case.key] = case
            if case.closes_ms is None:
                self.open_steps[ShardKey(case.key.program, case.shard)].append(case)
                continue
            decider = self.program(case.key.program).spec.decisions
            self.closing[decider].append((case.closes_ms, case.key, case.step or 0, case))
        for heap in self.closing.values():
            heapq.heapify(heap)

    def begin(self, entry: Entry) -> None:
        """Turn to the next entry; outputs are numbered within their journal record."""
        if entry.place.line == 0:
            self.number = 0
        self.entry = entry

    def first_time(self, entry: Entry) -> bool:
        """Whether the entry's input record has not been folded yet; from now on it has."""
        if entry.source is None:
            return True
        seen = self.state.positions.get(entry.source, -1)
        if entry.source_offset <= seen:
            self.count("appended_twice")
            return False
        self.state.positions[entry.source] = entry.source_offset
        return True

    def program(self, name: str) -> Program:
        """A program of this worker; what stands in the journal must not be skipped because a spec is missing."""
        program = self.state.programs.get(name)
        if program is None:
            raise LedgerError(f"the journal holds records of program {name!r}: start the worker with its spec too")
        return program

    def case(self, key: CaseKey) -> Case | None:
        """A case that is known and not yet past its retention."""
        case = self.cases.get(key)
        if case is None or case.forget_ms is None:
            return case
        return None if self.state.is_past_retention(self.program(key.program), case.forget_ms) else case

    def touch(self, case: Case) -> Case:
        """Note that a case is new or has changed."""
        self.cases[case.key] = case
        self.effects.cases[case.key] = case
        return case

    def settle(self, entry: Entry) -> None:
        """Remember an event that ended without a case, to know its repeat."""
        settled = processed_event_of(entry)
        self.effects.settled[settled] = self.forget_ms(self.program(settled.program), entry.time_ms)

    def forget_ms(self, program: Program, time_ms: int, kept_ms: int | None = None) -> int:
        """When what ended at this time is forgotten. Retention does not begin before the watermark, or what comes
        late would be forgotten at once."""
        watermark_ms = self.state.watermark_ms(program)
        begins_ms = time_ms if watermark_ms is None else max(time_ms, watermark_ms)
        return begins_ms + (program.retention_ms if kept_ms is None else kept_ms)

    def was_processed(self, entry: Entry) -> bool:
        """Whether this event ended without a case before."""
        settled = processed_event_of(entry)
        forget_ms = self.effects.settled.get(settled, self.view.settled.get(settled))
        return forget_ms is not None and not self.state.is_past_retention(self.program(settled.program), forget_ms)

    def no_longer_waits(self, event: Waiting) -> None:
        """Note that an event was taken off the waiting list."""
        self.effects.waiting.pop(event.place, None)
        self.effects.no_longer_waiting.add(event.place)

    def count(self, what: str, which: str = "", detail: str = "") -> None:
        """Count for the metrics."""
        self.effects.counted.append((what, which, detail))

    def emit(self, event: Output, identity: str, time_ms: int, program: str = "", shard: int = 0) -> None:
        """Publish an event caused by the entry being folded."""
        entry = self.entry
        number = self.number
        self.number = number + 1
        source, key = self.state.programs[program].addresses[shard] if program else ("onward", None)
        emission = Emission(entry.place.offset, number, identity, source, key, time_ms, entry.timestamp_ms, event)
        self.effects.emissions.append(emission)

    def dead_letter(self, entry: Entry, reason: str, detail: str) -> None:
        """Publish a dead letter for an event that cannot be applied."""
        letter = dead_letter_of_event(entry.id, entry.source, entry.source_offset, bytes(entry.raw), reason, detail)
        self.dead_letter_as_is(entry, letter)

    def dead_letter_as_is(self, entry: Entry, letter: DeadLetter) -> None:
        """Publish a dead letter."""
        self.count("dead_letters", letter.reason)
        identity = f"dead-letter/{letter.topic}/{letter.partition}/{letter.offset}"
        self.emit(letter, identity, entry.time_ms)

    def dangling(self, entry: Entry, outcome: Outcome) -> None:
        """Publish the fate of an outcome that has no recourse."""
        self.settle(entry)
        program = self.program(outcome.program)
        shard = shard_of(outcome.application, program.spec.shards)
        event = Reward(program.name, shard, outcome.application, "dangling", outcome=entry.id)
        self.count("fates", program.name, "dangling")
        identity = joined("dangling", program.name, outcome.application, entry.id)
        self.emit(event, identity, entry.time_ms, program.name, shard)

    def changed(self, shard: Shard) -> None:
        """Note that a learner has changed."""
        self.effects.shards.add(shard.key)
