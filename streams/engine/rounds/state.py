"""The state of a program's rounds: who waits, what is promised, what is being closed, and what has been learned."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import UNSET, Struct, field
from numpy.typing import NDArray

from ....agents.costs import DifficultyPosterior
from ....agents.goals import RoundGoal
from ....schemas.events import Drifted
from ...programs.program import Program
from ..cases import Case
from ..program_state import StoredProgram, UnfinishedState
from .calendar import Calendar
from .drift import DriftDetector
from .promised_scores import PROMISED_SCORES, PromisedScore, PromisedScores
from .ranking import NO_CUT, Cut

Array = NDArray[np.float64]


class RoundMember(Struct, gc=False):
    """An application that waits for its round, which is number ``from_round`` at the earliest.

    ``score`` is None until the round is being closed, and NaN where the model cannot score the features.
    ``approved`` is what another system has decided, at ``decided_ms``; None where the round decides.
    """

    name: str
    time_ms: int
    applicant: str | None
    previous: str | None
    from_round: int
    score: float | None = None
    approved: bool | None = None
    decided_ms: int | None = None

    @property
    def order(self) -> tuple[int, str]:
        """Members are closed by event time, then by name."""
        return self.time_ms, self.name


def member_of(case: Case) -> RoundMember:
    """The member that a case in a round is."""
    applicant, previous, decided = case.applicant, case.previous, (case.approved, case.decided_ms)
    return RoundMember(case.key.application, case.time_ms, applicant, previous, case.from_round, case.score, *decided)


class Phase(IntEnum):
    """The next phase of a round that is being closed. The numbers are stored: never renumber."""

    SCORE = 0
    RANK = 1
    FORECAST = 2
    AIM = 3
    ANSWER = 4
    EXPIRE = 5


class Sample(Struct, array_like=True):
    """Rejected people whose success is predicted: their names, how many people each stands for, and the predictions so
    far, one row a person, as the bytes of float64."""

    names: tuple[str, ...] = ()
    weight: float = 1.0
    success: bytes = b""


class RoundCounts(Struct, frozen=True, array_like=True):
    """How many people the threshold event speaks of. Stored as an array: never reorder the fields."""

    applicants: int = 0
    newcomers: int = 0
    returned: int = 0
    reached: int = 0
    accepted: int = 0


class Closing(Struct, array_like=True):
    """A round that is being closed, piece by piece. Stored as an array: never reorder the fields.

    ``duplicate_applications`` names those whose applicant has another one in the round. ``rejected`` people competed
    and got no place. ``goal`` is promised up to ``until_round``, but for the rounds ``without`` places.
    """

    number: int
    end_ms: int
    places: int
    phase: Phase = Phase.SCORE
    cut: Cut = NO_CUT
    threshold: float = 0.0
    duplicate_applications: tuple[str, ...] = ()
    sample: Sample = field(default_factory=Sample)
    goal: float | None = None
    forecast: float | None = None
    until_round: int = -1
    counts: RoundCounts = RoundCounts()
    rejected: int = 0
    drift: tuple[Drifted, ...] = ()
    without: tuple[int, ...] = ()


class PromiseCounts(Struct, array_like=True):
    """How many promises have ended, by status, and how many of the people who reached theirs got a place."""

    kept: int = 0
    broken: int = 0
    expired: int = 0
    superseded: int = 0
    reached: int = 0
    reached_and_accepted: int = 0
    rounds: int = 0

    @property
    def coverage(self) -> float | None:
        """The share of those who reached their promised score that got a place."""
        return self.reached_and_accepted / self.reached if self.reached else None


class Learners(NamedTuple):
    """The learners of closed rounds."""

    goal: RoundGoal
    difficulty: DifficultyPosterior
    threshold_drift: DriftDetector
    newcomer_drift: DriftDetector


class ProgramRounds(UnfinishedState, array_like=True):
    """The rounds of one program. Stored as an array: never reorder the fields.

    ``due`` maps the end of each round that has a timer to its announced places, None where the spec's hold.
    ``overdue`` are the ends that the watermark has passed while another round was being closed. ``threshold`` is that
    of the last round in which somebody got a place, ``goal`` that of the last one with rejected people. ``learned`` are
    the arrays of the ``learners``, by name. ``waiting`` counts the pool, for those who read the ledger without its
    cases. ``announced_ms`` is when the ends that are due were announced, in event time.

    ``pool`` holds the applications that wait for a round, by name. ``members`` are those of the round that is being
    closed that are left to do, in order.
    """

    table: ClassVar[str] = "rounds"
    rows: ClassVar[Any] = (PROMISED_SCORES,)

    last_number: int = -1
    last_end_ms: int | None = None
    due: dict[int, int | None] = field(default_factory=dict)
    overdue: list[int] = field(default_factory=list)
    closing: Closing | None = None
    promise_counts: PromiseCounts = field(default_factory=PromiseCounts)
    threshold: float | None = None
    learned: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)
    goal: float | None = None
    waiting: int = 0
    announced_ms: dict[int, int] = field(default_factory=dict)

    def begin(self, program: Program) -> None:
        """No round of the program has been closed."""
        self._put_under(program)
        difficulty = DifficultyPosterior(len(program.spec.features), self.capacity.beta)
        self.learners = Learners(program.round_goal(), difficulty, DriftDetector(), DriftDetector())
        self.pool: dict[str, RoundMember] = {}
        self.promised_scores = PromisedScores()
        self.members: list[RoundMember] = []

    def restore(self, stored: StoredProgram) -> None:
        """Continue with those who wait, the promises, and what was learned."""
        for name, learner in self.learners._asdict().items():
            learner.restore(self.learned[name])
        for case in stored.pooled_cases:
            self.pool[case.key.application] = member_of(case)
        for promise in stored.rows(PROMISED_SCORES):
            self.promised_scores.add(promise)
        if self.closing is not None:
            self.members = self.members_of(self.closing)

    def collect(self) -> None:
        """Take what the learners know, and the size of the pool."""
        self.learned = {name: learner.state() for name, learner in self.learners._asdict().items()}
        self.waiting = len(self.pool)

    def change(self, program: Program) -> None:
        """Go on under another spec, with what was learned."""
        goal = program.round_goal()
        goal.restore(self.learners.goal.state())
        self.learners = self.learners._replace(goal=goal)
        self._put_under(program)

    def _put_under(self, program: Program) -> None:
        capacity = program.spec.capacity
        assert capacity is not None, "a program with rounds has a capacity"
        self.program, self.capacity, self.calendar = program, capacity, Calendar.from_capacity(capacity)

    # --- the round that an application belongs to ------------------------------------------------------------------

    @property
    def earliest_round(self) -> int:
        """The first round that may still take applications."""
        return (self.last_number if self.closing is None else self.closing.number) + 1

    def calendar_end(self, time_ms: int) -> int | None:
        """When the round of an application ends that comes at this event time; None without a calendar."""
        if self.calendar is None:
            return None
        return self.calendar.end_of(max(self.earliest_round, self.calendar.round_of(time_ms)))

    @property
    def is_unfinished(self) -> bool:
        """Whether a round has ended that is not closed yet."""
        return self.closing is not None or bool(self.overdue)

    @property
    def has_begun(self) -> bool:
        """Whether anything has happened: never where another journal partition owns the program's shard."""
        return self.last_end_ms is not None or bool(self.pool or self.due or self.closing)

    @property
    def next_end_ms(self) -> int | None:
        """When the earliest round ends, or has ended, that is expected and not closed: all others end later."""
        return min(self.due, default=None) if self.closing is None else self.closing.end_ms

    def promise_of(self, member: RoundMember) -> PromisedScore | None:
        """The promise that a member comes back with."""
        return self.promised_scores.of_applicant(member.applicant, member.time_ms)

    def begin_closing(self) -> None:
        """Start to close the earliest round that is expected: it has ended where a later one has.

        What nobody has announced is as in the last season, as people were told, else as in the spec. Where another
        system gives the places, no season says how many.
        """
        end_ms = min(self.due)
        places = self.due.pop(end_ms)
        self.announced_ms = {other_ms: at_ms for other_ms, at_ms in self.announced_ms.items() if other_ms > end_ms}
        self.overdue = [other_ms for other_ms in self.overdue if other_ms != end_ms]
        number = self.last_number + 1 if self.calendar is None else self.calendar.round_of(end_ms)
        if places is None and self.program.spec.decisions == "model":
            places = self.learners.goal.season.places(number)
        self.closing = Closing(number, end_ms, self.capacity.places if places is None else places)
        self.members = self.members_of(self.closing)

    def members_of(self, closing: Closing) -> list[RoundMember]:
        """The members of a round, in the order in which they are answered.

        Where another system decides, those that it has decided by the end of the round.
        """
        external = self.program.spec.decisions == "external"

        def belongs(member: RoundMember) -> bool:
            at_ms = member.decided_ms if external else member.time_ms
            return at_ms is not None and at_ms <= closing.end_ms and member.from_round <= closing.number

        return sorted(filter(belongs, self.pool.values()), key=lambda member: member.order)

    def drop(self, members: Collection[RoundMember]) -> None:
        """These members need nothing more."""
        names = {member.name for member in members}
        self.members = [member for member in self.members if member.name not in names]
        for name in names:
            self.pool.pop(name, None)

    def places_after(self, closing: Closing) -> list[int | None]:
        """The places of the rounds after this one; None where only earlier rounds tell of them.

        A round that had the places of the spec lets expect them again. Where it had others they were announced, so the
        next round's may be announced too; where another system decides the spec does not say how many it gives. In a
        program with seasons the rounds of the last one tell.
        """
        by_spec = self.program.spec.decisions == "model" and closing.places == self.capacity.places
        as_in_spec = (self.threshold is None or by_spec) and self.capacity.season is UNSET
        expected = self.capacity.places if as_in_spec else None
        ends = self._ends_after(closing)
        announced = [self.due.get(end_ms) if self._is_known(end_ms, closing) else None for end_ms in ends]
        return [expected if places is None else places for places in announced]

    def opens_ms(self, closing: Closing, without: Collection[int]) -> int:
        """When the first round after this one begins that is none of those ``without`` places."""
        pauses = 0
        while closing.number + pauses + 1 in without:
            pauses += 1
        ends = [closing.end_ms, *self._ends_after(closing)]
        return ends[min(pauses, len(ends) - 1)]

    def _ends_after(self, closing: Closing) -> list[int]:
        """When the rounds after this one end, as far as is known; of a calendar those that matter to a promise."""
        known = [end_ms for end_ms in sorted(self.due) if end_ms > closing.end_ms and self._is_known(end_ms, closing)]
        if self.calendar is None:
            return known
        last = max([closing.number, *map(self.calendar.round_of, known[-1:])]) + self.capacity.horizon
        return [self.calendar.end_of(number) for number in range(closing.number + 1, last + 1)]

    def _is_known(self, end_ms: int, closing: Closing) -> bool:
        """Whether the end of another round was announced before this one could be closed, however late it is."""
        return self.announced_ms.get(end_ms, 0) <= closing.end_ms + self.program.lateness_ms

    def finish(self) -> None:
        """The round that was being closed is closed."""
        assert self.closing is not None, "no round is being closed"
        self.last_number, self.last_end_ms = self.closing.number, self.closing.end_ms
        self.promise_counts.rounds += 1
        # Nobody has decided these in time: the ledger forgets them.
        oldest_ms = self.closing.end_ms - self.program.undecided_ms
        self.pool = {name: member for name, member in self.pool.items() if member.time_ms >= oldest_ms}
        self.closing = None
