"""Simulates worlds whose places are limited: round after round, each opened when the one before is closed.

    simulation = SeasonSimulation([SimulatedSeason("competition-protoar", season, Scoreboard(season))])

It receives its own events too, as they are read from their topics. In each round

1. outcomes and applications are published;
2. when all of them have been read from their topics, the end of the round is announced: the present event time;
3. when everybody has a decision and everybody rejected an answer, the world takes them, and the next round begins.

So the members of a round, and with them all places and promises, do not depend on the speed of anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from .....environments.competition import Answer, Arrival, Season
from .....environments.rounds import Scoreboard
from .....schemas.events import APPLY_AGAIN, Application, ModelDecision, NoRecourse, Outcome, Recourse, Round
from ..simulation import OutgoingEvent, ProgramEvent, Simulation


class SimulatedSeason(NamedTuple):
    """A program, the season that it serves, and the scoreboard that records what people take up."""

    program: str
    season: Season
    recorder: Scoreboard


class SeasonSimulation(Simulation["_SeasonRun"]):
    """Plays one season for each program. ``prefix`` is put before every application's and applicant's id.

    No round is opened once the ``limit`` of ``next_events`` is reached.
    """

    def __init__(self, seasons: Sequence[SimulatedSeason], prefix: str = "") -> None:
        super().__init__({simulated.program: _SeasonRun(simulated, prefix) for simulated in seasons})


class _SeasonRun:
    """The simulation of one program."""

    def __init__(self, simulated: SimulatedSeason, prefix: str) -> None:
        self._program, self._season, self._recorder = simulated
        self._prefix = prefix
        self._id_prefix = f"{self._program}/{prefix}"
        self._now_ms = self._sent = self._recorded = 0
        self._members: list[str] = []
        # Ids of events that were published and not read yet; None when the round's end is announced.
        self._unread: set[str] | None = None
        self._decided: dict[str, bool] = {}
        self._answers: dict[str, Recourse | NoRecourse] = {}

    @property
    def done(self) -> bool:
        return not self._members and self._season.round == self._season.rounds

    @property
    def awaited(self) -> str | None:
        return f"{self._id_prefix}round/{self._season.round}" if self._members else None

    def is_rejected(self, application: str) -> bool:  # noqa: ARG002 -- decisions say it
        return False

    def next_events(self, now_ms: int, limit: int | None) -> Iterator[OutgoingEvent]:
        # Event time goes on from round to round, even if the clock does not.
        self._now_ms = max(self._now_ms, now_ms)
        if self._members and self._unread is not None and not self._unread:
            self._unread = None
            yield self._announcement()
        elif not self._members and not self.done and (limit is None or self._sent < limit):
            yield from self._open()

    def receive(self, event: ProgramEvent) -> None:
        match event:
            case Application() | Outcome():
                if self._unread is not None:
                    self._unread.discard(self._id(event))
                return
            case ModelDecision():
                self._decided[event.application] = event.approved
            case Recourse() | NoRecourse():
                self._answers[event.application] = event
        if self._members and all(self._is_answered(name) for name in self._members):
            self._close()

    def on_dead_letter(self, ids: set[str]) -> bool:
        return any(one.startswith(self._id_prefix) for one in ids)

    def _id(self, event: Application | Outcome) -> str:
        kind = "application" if isinstance(event, Application) else "outcome"
        return f"{self._program}/{event.application}/{kind}"

    def _open(self) -> Iterator[OutgoingEvent]:
        arrivals, self._unread = self._season.open(), set()
        self._members = [self._prefix + arrival.application for arrival in arrivals]
        self._sent += len(arrivals)
        for arrival in arrivals:
            for event in self._events(arrival):
                self._unread.add(self._id(event))
                # Outcomes of one program have one key: their order is the same in every run.
                key = event.application if isinstance(event, Application) else self._program
                yield OutgoingEvent(event, self._id(event), key.encode(), self._now_ms)

    def _events(self, arrival: Arrival) -> Iterator[Application | Outcome]:
        previous = None if arrival.previous is None else self._prefix + arrival.previous
        if previous is not None and arrival.taken is not None:
            yield Outcome(self._program, previous, "improved" if arrival.reached else "not_improved", arrival.taken)
        name, applicant = self._prefix + arrival.application, self._prefix + arrival.applicant
        yield Application(self._program, name, dict(arrival.features), applicant, previous)

    def _announcement(self) -> OutgoingEvent:
        end_ms, self._now_ms = self._now_ms, self._now_ms + 1
        event = Round(self._program, datetime.fromtimestamp(end_ms / 1000, UTC), self._season.places)
        return OutgoingEvent(event, self.awaited or "", self._program.encode(), end_ms)

    def _is_answered(self, name: str) -> bool:
        return name in self._decided and (self._decided[name] or name in self._answers)

    def _close(self) -> None:
        start = len(self._prefix)
        accepted = {name[start:] for name in self._members if self._decided[name]}
        rejected = {name: self._answers[name] for name in self._members if not self._decided[name]}
        answers = {name[start:]: _read(answer) for name, answer in rejected.items()}
        for taken in self._season.close(accepted, answers):
            self._recorder.record(self._recorded, taken)
            self._recorded += 1
        self._members, self._decided, self._answers = [], {}, {}


def _read(answer: Recourse | NoRecourse) -> Answer:
    """What a person reads: the score to reach, and by option the new values by feature."""
    goal = answer.target_score if isinstance(answer.target_score, float) else None
    if isinstance(answer, NoRecourse):
        return Answer(goal if answer.reason == APPLY_AGAIN else None)
    return Answer(
        goal, {one.id: {change.feature: float(change.target) for change in one.changes} for one in answer.options}
    )
