"""The engine: folds journal entries into effects.

Pure: no Kafka, no clock, no global randomness, and no I/O but reads of its own ledger through the view. Entries are
folded in portions for speed only. The effects do not depend on where the journal is divided into portions.

For each entry, in this order:
    1. an entry whose input record was folded before is dropped, since ingest may append a record twice after a crash;
    2. the clocks advance, timers that are due fire, and what is done in pieces is carried on;
    3. the handler of the entry's kind applies the event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..journal.entries import CaseKey, Entry
from .contract import gate_before
from .fold import Fold, StepObserver
from .handlers import Handler, handlers, timer_handlers, works
from .portion import Footprint, LedgerView, PortionChanges
from .selection import LookAhead
from .state import PartitionState
from .timing.watermark import clock_moves

Segment = Sequence[tuple[Entry, Handler]]
"""Entries that are assessed together, each with the handler of its kind."""


def footprint(portion: Iterable[Entry]) -> Footprint:
    """Collect the cases, processed events, steps and clock moves that a portion may touch.

    The ledger builds its view from them.
    """
    touched = Footprint()
    for entry in portion:
        handlers[entry.kind.name].touch(entry, touched)
        touched.moves.extend(clock_moves(entry))
    return touched


def process(
    state: PartitionState, portion: Sequence[Entry], view: LedgerView, observe_step: StepObserver | None = None
) -> PortionChanges:
    """Fold a portion into the state, in place, and return its effects.

    After an exception the state is of no use: start again from the ledger.
    """
    fold = Fold(state, view, timer_handlers, observe_step)
    for segment in _segments(state, portion):
        are_new = state.are_new([entry for entry, _ in segment])
        fold.ahead = _look_ahead(fold, segment, are_new)
        for (entry, handler), is_new in zip(segment, are_new, strict=True):
            fold.begin(entry)
            # Step 1: drop a record that was appended twice.
            if not is_new:
                fold.count("duplicates", entry.kind.name)
            else:
                if entry.source is not None:
                    fold.last_known = state.positions.get(entry.source, -1)
                    state.positions[entry.source] = entry.source_offset
                # Step 2: advance the clocks, fire timers, carry on what is done in pieces.
                _pass_time(fold, entry)
                # Step 3: apply the event.
                gate = gate_before(entry, fold)
                if gate is None:
                    handler.apply(entry, entry.body, fold)
                else:
                    gate.leave_out(entry, fold)
            state.offset = entry.position.offset + 1
        fold.ahead.check_all_used()
    return fold.end()


def _segments(state: PartitionState, portion: Sequence[Entry]) -> Iterator[Segment]:
    """Cut after the entries that change how people are assessed: those of a segment are assessed together.

    A segment is to be folded before the next one is asked for.
    """
    segment: list[tuple[Entry, Handler]] = []
    for entry in portion:
        handler = handlers[entry.kind.name]
        segment.append((entry, handler))
        if handler.ends_segment(entry, state):
            yield segment
            segment = []
    yield segment


def _look_ahead(fold: Fold, segment: Segment, are_new: Sequence[bool]) -> LookAhead:
    """Assess the people of a segment, and plan runs.

    A run is consecutive steps of a shard between which its learner cannot change.
    """
    left_out = {entry.position for entry, _ in segment if gate_before(entry, fold) is not None}
    people = [
        (entry, person)
        for entry, handler in segment
        if entry.position not in left_out and (person := handler.person(entry, fold)) is not None
    ]
    ahead = LookAhead(fold.state, fold.timers, people)
    keys_seen: set[CaseKey] = set()
    for (entry, handler), is_new in zip(segment, are_new, strict=True):
        if entry.kind.about is None:
            continue
        may_step = is_new and entry.key not in keys_seen and entry.position not in left_out
        if may_step and handler.surely_takes_step(entry, fold):
            ahead.extend_run(entry)
        else:
            # Only the fold knows whether this entry takes a step or changes a learner.
            ahead.end_runs()
        keys_seen.add(entry.key)
    return ahead


def _pass_time(fold: Fold, entry: Entry) -> None:
    watermarks, moved = fold.state.watermarks, False
    if entry.clock_ms is not None and entry.source is not None:
        watermarks.note_ahead(entry.source, entry.time_ms)
    for source, time_ms in clock_moves(entry):
        moved |= watermarks.advance(source, time_ms)
    if moved:
        for watermark, watermark_ms in watermarks.known():
            for timer in fold.timers.due_by_time(watermark, watermark_ms):
                timer_handlers[timer.kind].fire(timer, fold)
    for work in works.values():
        for state in fold.state.all_of(work.state):
            if state.is_unfinished:
                work.carry_on(state, work.budget.units_for(entry), fold)
