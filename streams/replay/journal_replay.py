"""A journal folded again, for what no ledger keeps: among which candidates each step chose, and what came of it.

The fold is that of the workers, with a ledger of its own for a while, so what comes out is what was published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...schemas.encoding import Problem
from ...schemas.events import DeadLetter, NoRecourse, Recourse, Reward, SourcePosition, Tick
from ..engine.assessment import Assessment
from ..engine.effects import Effects
from ..engine.fates import CLOSED
from ..engine.fold import Fold
from ..engine.process import process
from ..engine.selection import Chosen, Steps
from ..engine.state import Shard
from ..engine.watermark import required_topics
from ..errors import BrokerError
from ..journal.journal import NO_CASE, Entry, JournalPosition, read
from ..ledger.ledger import Ledger
from ..programs.program import Program
from ..records import Record, TopicPartition
from ..topics import Topics

PORTION_ENTRIES = 2000
"""Events that are folded together, or a journal record's more."""
WAITING_LIMIT = 10_000
"""As a worker has it by default."""


class Step(Struct, frozen=True, gc=False, eq=False):
    """A step that was taken: for ``person`` (D,), among the ``feasible`` (F,) with their ``execution`` (F,).
    ``candidate`` is None when there was none."""

    shard: int
    number: int
    person: NDArray[np.float64]
    feasible: NDArray[np.intp]
    execution: NDArray[np.float64]
    candidate: int | None
    propensity: float


class Closing(Struct, frozen=True, gc=False):
    """The end of a step's recourse: its ``reward``, None when the person never saw it."""

    shard: int
    number: int
    reward: float | None
    censored: bool


class JournalReplay:
    """One journal partition, folded again for one program; of others it is told only that time passed.

    ``directory`` is for its ledger, and must be empty.
    """

    def __init__(self, program: Program, topics: Topics, journal: TopicPartition, directory: Path) -> None:
        self._program = program
        self._ledger = Ledger(directory / f"{journal.partition}.sqlite", *journal)
        self._state = self._ledger.load({program.name: program}, required_topics(topics), WAITING_LIMIT)
        self._entries: list[Entry] = []

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def feed(self, record: Record) -> Iterator[Step | Closing]:
        """Fold the next record, now or later; what came about so far. Raise ``BrokerError`` when the beginning of the
        journal is not there any more."""
        if not self._state.offset and not self._entries and record.offset:
            raise BrokerError(
                f"{record.topic} partition {record.partition} begins at offset {record.offset}: what came before is "
                "needed too, keep the journal for ever (`onward topics check`)"
            )
        self._entries += map(self._own, read(record))
        if len(self._entries) >= PORTION_ENTRIES:
            yield from self.rest()

    def rest(self) -> Iterator[Step | Closing]:
        """Fold what has not been folded yet."""
        entries, self._entries = self._entries, []
        taken: dict[tuple[int, int], Step] = {}
        view = self._ledger.view(self._state, entries)
        effects = process(self._state, entries, view, steps=partial(_SeenSteps, taken))
        self._ledger.commit(self._state, effects)
        yield from _happened(effects, taken)

    def _own(self, entry: Entry) -> Entry:
        body = entry.body
        if isinstance(body, (Tick, DeadLetter)) or body.program == self._program.name:
            return entry
        source = entry.source
        clocks = () if source is None else (SourcePosition(*source, entry.time_ms),)
        return msgspec.structs.replace(entry, key=NO_CASE, body=Tick(clocks))


class _SeenSteps(Steps):
    """Notes every step as it is taken, by shard and number."""

    def __init__(
        self,
        taken: dict[tuple[int, int], Step],
        fold: Fold,
        segment: Sequence[Entry],
        assessments: Mapping[JournalPosition, Assessment | Problem],
    ) -> None:
        super().__init__(fold, segment, assessments)
        self._taken = taken

    def take(self, program: Program, shard: Shard, place: JournalPosition, found: Assessment) -> Chosen | None:
        chosen = super().take(program, shard, place, found)
        among, row = found.among, found.row
        assert among is not None, "only who is rejected takes a step"
        own = slice(among.first[row], among.last[row])
        self._taken[shard.number, shard.step] = Step(
            shard.number,
            shard.step,
            among.people[row],
            among.feasible[own],
            among.execution[own],
            None if chosen is None else chosen.candidate,
            0.0 if chosen is None else chosen.propensity,
        )
        return chosen


def _happened(effects: Effects, taken: Mapping[tuple[int, int], Step]) -> Iterator[Step | Closing]:
    """Steps and closings, in the order in which they came about."""
    for emission in effects.emissions:
        event = emission.event
        if isinstance(event, (Recourse, NoRecourse)):
            yield taken[event.shard, event.step]
        elif isinstance(event, Reward) and event.fate in CLOSED.values():
            assert event.step is not None, f"{event.fate} without a step"
            reward = None if event.fate == "unseen" else event.reward
            yield Closing(event.shard, event.step, reward, event.fate == "censored")
