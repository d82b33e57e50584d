"""A portion of the journal: what it may touch, what is read for it, and what it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..journal.entries import CaseKey, Entry, JournalPosition
from ..outputs.emission import Emission
from ..programs.bundle.loader import ModelBundle
from .cases import Case, ProcessedEvent, processed_event
from .program_state import ProgramState, RowReader, Rows, RowTable
from .shards import ShardKey
from .timing.timers import StepTimers, Timer
from .timing.waiting import WaitingEvent
from .timing.watermark import Move

PORTION_ENTRIES = 2000
"""Events that are folded together; more where one journal record holds more."""


class Footprint:
    """The cases and rows that a portion may touch, as the handlers of its entries declare them.

    ``cases`` and ``processed`` are names by program, ``steps`` those of the cases that may take a step: one at most.
    ``named`` are applications and applicants whose cases are all to be read, and those that follow them.
    """

    def __init__(self) -> None:
        self.cases: defaultdict[str, set[str]] = defaultdict(set)
        self.processed: defaultdict[str, set[str]] = defaultdict(set)
        self.steps: defaultdict[str, set[str]] = defaultdict(set)
        self.named: defaultdict[str, set[str]] = defaultdict(set)
        self.moves: list[Move] = []

    def may_touch_case(self, key: CaseKey) -> None:
        """An entry may read or change this case."""
        self.cases[key.program].add(key.application)

    def may_touch_all_of(self, program: str, name: str) -> None:
        """An entry may change each case that names this application or applicant."""
        self.named[program].add(name)

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

    ``cases`` are by key. ``timers`` are those that may fire, those of steps up to the one that ``steps_read`` says for
    each shard. ``processed`` maps each processed event to the time at which it is forgotten. ``models`` are the bundles
    that the portion's model events announce.

    What else is needed is known only when it is due. ``read_cases`` reads cases of a program by their names,
    ``read_steps`` the timers of a shard's later steps, and ``rows`` those of the tables that kinds of state have.
    ``read_processed`` reads the processed events of a case, ``read_naming`` the cases of a program that name one of
    these applications or applicants.
    """

    cases: Mapping[CaseKey, Case]
    timers: Sequence[Timer]
    steps_read: Mapping[tuple[str, int], int]
    processed: Mapping[ProcessedEvent, int]
    models: Mapping[JournalPosition, ModelBundle]
    read_cases: Callable[[str, Sequence[str]], Iterable[Case]]
    read_steps: StepTimers
    rows: RowReader
    read_processed: Callable[[CaseKey], Mapping[ProcessedEvent, int]]
    read_naming: Callable[[str, Collection[str]], Iterable[Case]]


class PreferenceUpdate(NamedTuple):
    """A change of the shares of a program's ``Preferences``, (F,), by what a person said.

    ``kind`` and ``id`` are those of the event with which it was learned: an answer, or the recourse that followed from
    answers to questions.
    """

    key: CaseKey
    kind: str
    id: str
    before: NDArray[np.float64]
    after: NDArray[np.float64]


@dataclass
class PortionChanges:
    """Everything that one portion changed: events to publish, and rows of the ledger to write.

    ``cases`` are those that are new or have changed (None: deleted), ``waiting`` the events that wait now (None: waits
    no longer). ``processed`` says when each processed event is forgotten (None: now). ``timers`` holds those that are
    set (True) and cancelled (False). ``models`` are the programs with another model, ``specs`` those with another spec,
    ``states`` the values of each kind of state that changed, in the order in which they first did, and ``rows`` what
    changed in its tables. ``counts`` hold how much is added to the counters of the metrics, by name and labels, and
    ``observed`` the values of histograms, by name and program. ``preference_updates`` are in the order of the journal.
    Where somebody was ``erased``, what was deleted must leave no trace in the ledger's file.
    """

    emissions: list[Emission] = field(default_factory=list)
    cases: dict[CaseKey, Case | None] = field(default_factory=dict)
    timers: dict[Timer, bool] = field(default_factory=dict)
    waiting: dict[JournalPosition, WaitingEvent | None] = field(default_factory=dict)
    processed: dict[ProcessedEvent, int | None] = field(default_factory=dict)
    shards: set[ShardKey] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    specs: set[str] = field(default_factory=set)
    states: defaultdict[type[ProgramState], dict[ShardKey, None]] = field(default_factory=lambda: defaultdict(dict))
    rows: dict[RowTable[Any], Rows[Any]] = field(default_factory=dict)
    counts: defaultdict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(int))
    observed: defaultdict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    preference_updates: list[PreferenceUpdate] = field(default_factory=list)
    erased: bool = False
