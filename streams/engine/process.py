"""The engine: folds journal entries into effects.

Pure: no Kafka, no clock, no I/O, no global randomness. A chunk is only a way to compute together what can be computed
together: where the journal is cut does not change a byte of the effects.

For each entry, in this order:
    1. an entry whose input record was folded before is dropped, since ingest may append a record twice after a crash;
    2. time passes: clocks move, and the timers fire that the watermark has passed;
    3. the handler of the entry's kind applies the event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..journal.entries import CaseKey, Entry
from .effects import Effects
from .fold import Fold, Footprint, LedgerView, StepObserver
from .handlers import handlers, timer_handlers
from .selection import LookAhead
from .state import PartitionState
from .watermark import clock_moves


def footprint(chunk: Iterable[Entry]) -> Footprint:
    """What a chunk may touch: the ledger's view is made of it."""
    touched = Footprint()
    for entry in chunk:
        handlers[entry.kind.name].touch(entry, touched)
        touched.moves.extend(clock_moves(entry))
    return touched


def process(
    state: PartitionState, chunk: Sequence[Entry], view: LedgerView, observe_step: StepObserver | None = None
) -> Effects:
    """Fold a chunk into the state, in place, and return its effects.

    After an exception the state is of no use: start again from the ledger.
    """
    fold = Fold(state, view, {kind: handler.order for kind, handler in timer_handlers.items()}, observe_step)
    for segment in _segments(chunk):
        unseen = state.unseen(segment)
        ahead = _look_ahead(fold, segment, unseen)
        for entry, is_unseen in zip(segment, unseen, strict=True):
            fold.begin(entry)
            # Step 1
            if not is_unseen:
                fold.count("appended_twice")
            else:
                if entry.source is not None:
                    state.positions[entry.source] = entry.source_offset
                # Step 2
                _pass_time(fold, entry)
                # Step 3
                handlers[entry.kind.name].apply(entry, entry.body, fold, ahead)
            state.offset = entry.position.offset + 1
        ahead.end()
    return fold.effects


def _segments(chunk: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Cut after the entries that change how people are assessed: those of a segment are assessed together."""
    ends = [index for index, entry in enumerate(chunk, 1) if handlers[entry.kind.name].ends_segment]
    for start, end in pairwise(sorted({0, *ends, len(chunk)})):
        yield chunk[start:end]


def _look_ahead(fold: Fold, segment: Sequence[Entry], unseen: Sequence[bool]) -> LookAhead:
    """Assess the people of a segment, and plan the runs of steps that nothing can be learned in between."""
    people = [
        (entry, person) for entry in segment if (person := handlers[entry.kind.name].person(entry, fold)) is not None
    ]
    ahead = LookAhead(fold, people)
    named: set[CaseKey] = set()
    for entry, is_unseen in zip(segment, unseen, strict=True):
        handler = handlers[entry.kind.name]
        if entry.kind.about is None:
            continue
        if is_unseen and entry.key not in named and handler.is_certain(entry, fold):
            ahead.extend_run(entry)
        else:
            # Whether this entry is answered, and what it teaches, is for the fold to say.
            ahead.end_runs()
        named.add(entry.key)
    return ahead


def _pass_time(fold: Fold, entry: Entry) -> None:
    watermarks = fold.state.watermarks
    moved = [watermarks.advance(source, time_ms) for source, time_ms in clock_moves(entry)]
    if any(moved):
        for decider, watermark_ms in watermarks.known():
            for timer in fold.timers.due_by_time(decider, watermark_ms):
                timer_handlers[timer.kind].fire(timer, fold)
