"""The parts that a room adds to the engine: handlers of events and timers, kinds of state, and work in pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from ..journal.entries import CaseKey, Entry, case_key
from ..programs.program import Program
from .assessment import AssessedPerson
from .cases import Case, timer_of
from .fold import Fold
from .portion import Footprint
from .program_state import ProgramState, UnfinishedState
from .state import CurrentModel, PartitionState
from .timing.timers import Timer


class Handler(ABC):
    """Applies the events of one kind, and says beforehand what they touch.

    The ledger's view, the look ahead and the runs of steps are derived from what a handler declares: ``touch``,
    ``person``, ``surely_takes_step`` and ``ends_segment``.
    """

    kind: ClassVar[str]
    """The name of the kind in ``schemas/kinds.py``."""

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """Declare what the entry may touch: by default the case that it is about."""
        if entry.kind.about == "case":
            footprint.may_touch_case(entry.key)

    def person(self, entry: Entry, fold: Fold) -> AssessedPerson | None:
        """The person to assess for this entry; None when there is none, or their features are not known yet."""
        return None

    def surely_takes_step(self, entry: Entry, fold: Fold) -> bool:
        """Whether the person of ``person``, if rejected, is certain to take the next step of their shard."""
        return False

    def ends_segment(self, entry: Entry, state: PartitionState) -> bool:
        """Whether later people must be assessed after this event is applied: it changes their model or their spec."""
        return False

    @abstractmethod
    def apply(self, entry: Entry, event: Any, fold: Fold) -> None:
        """Apply an event."""

    def give_up(self, entry: Entry, event: Any, fold: Fold) -> None:
        """Handle an event whose waiting time has expired. Kinds that wait must override this."""
        raise NotImplementedError(f"events of kind {self.kind} do not wait")


class TimerHandler(ABC):
    """Fires the timers of one kind."""

    kind: ClassVar[str]
    """The ``kind`` of its timers."""

    about_case: ClassVar[bool] = True
    """Whether the key of a timer is an application, whose case ``fire`` may read or change."""

    answers: ClassVar[bool] = False
    """Whether ``fire`` may answer people, which takes steps of their shards."""

    def order(self, timer: Timer) -> tuple[Any, ...]:
        """The order of timers that are due at the same time."""
        return timer.program, timer.key

    @abstractmethod
    def fire(self, timer: Timer, fold: Fold) -> None:
        """A timer is due."""


class CaseTimerHandler(TimerHandler):
    """Ends a way in which cases wait (``cases.WAITS``)."""

    def fire(self, timer: Timer, fold: Fold) -> None:
        """End the wait, unless the case waits for something else by now."""
        case = fold.case(case_key((timer.program, timer.key)))
        if case is not None and timer_of(case) == timer:
            self.end(case, fold)

    @abstractmethod
    def end(self, case: Case, fold: Fold) -> None:
        """The case has waited until its timer was due."""


class WorkBudget(NamedTuple):
    """Units of work for each program: what a tick may do, and any other entry, behind which others wait."""

    tick: int
    other: int

    def units_for(self, entry: Entry) -> int:
        """The units that an entry may do."""
        return self.tick if entry.kind.name == "tick" else self.other


W = TypeVar("W", bound=UnfinishedState)


class Work(ABC, Generic[W]):
    """Work that may be too long for one entry of the journal: each one carries it on by a piece.

    The ledger holds how far it is, so that a replay cuts it alike. One piece may cost more than an entry gives: then
    later entries make up for it before the next one.
    """

    state: type[W]
    budget: WorkBudget

    @abstractmethod
    def do_piece(self, state: W, fold: Fold) -> int:
        """Do a piece of about ``state.credit`` units; return how many it took."""

    def carry_on(self, state: W, units: int, fold: Fold) -> None:
        """Add units of work to the credit, and do pieces while it is positive."""
        fold.change(self.state, state.program)
        state.credit += units
        while state.credit > 0 and state.is_unfinished:
            state.credit -= self.do_piece(state, fold)
        if not state.is_unfinished:
            state.credit = 0

    def finish(self, state: W, fold: Fold) -> None:
        """Do all that is left."""
        while state.is_unfinished:
            self.carry_on(state, self.budget.tick, fold)

    def before_change(self, program: Program, fold: Fold) -> None:
        """A program gets another model or spec: do what must be done under the present one."""

    def after_model(self, program: Program, old: CurrentModel, new: CurrentModel, entry: Entry, fold: Fold) -> None:
        """A program has another model: begin what follows from it."""


class Gate(ABC):
    """Says which events about cases are left out: no handler sees them."""

    name: ClassVar[str]

    @abstractmethod
    def leaves_out(self, entry: Entry, fold: Fold) -> bool:
        """Whether an event is left out as things stand."""

    @abstractmethod
    def leave_out(self, entry: Entry, fold: Fold) -> None:
        """Do what follows from an event that is left out."""


handlers: dict[str, Handler] = {}
"""The handler of each kind of event, which ``handlers/__init__.py`` adds."""

timer_handlers: dict[str, TimerHandler] = {}
"""The handler of each kind of timer. Timers of event time fire kind by kind, in this order."""

states: dict[str, type[ProgramState]] = {}
"""The kinds of state, by the names of their tables."""

works: dict[str, Work[Any]] = {}
"""The work that is carried on by each entry, in this order; by the tables of its states."""

gates: dict[str, Gate] = {}
"""The gates that an event about a case must pass, by name."""

Addition = Handler | TimerHandler | Work[Any] | Gate | type[ProgramState]


def add(*added: Addition) -> None:
    """Put to use what a room adds."""
    for addition in added:
        table, name = _table(addition)
        table[name] = addition


def discard(*discarded: Addition) -> None:
    """Take it out of use again."""
    for addition in discarded:
        table, name = _table(addition)
        del table[name]


def _table(addition: Addition) -> tuple[dict[str, Any], str]:
    if isinstance(addition, Handler):
        return handlers, addition.kind
    if isinstance(addition, TimerHandler):
        return timer_handlers, addition.kind
    if isinstance(addition, Gate):
        return gates, addition.name
    return (works, addition.state.table) if isinstance(addition, Work) else (states, addition.table)


def gate_before(entry: Entry, fold: Fold) -> Gate | None:
    """The gate that leaves an event out; None where it may pass."""
    if entry.kind.about != "case":
        return None
    return next((gate for gate in gates.values() if gate.leaves_out(entry, fold)), None)


def apply_waiting(key: CaseKey, fold: Fold) -> None:
    """Apply the events that waited for a case."""
    if key in fold.state.waiting.by_case:
        for entry in fold.take_waiting(key):
            handlers[entry.kind.name].apply(entry, entry.body, fold)
