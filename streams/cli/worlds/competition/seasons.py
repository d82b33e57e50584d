"""Simulates worlds whose places are limited: round after round, each opened when the one before is closed.

    simulation = Simulation([SeasonRun("competition-protoar", season, Scoreboard(season))])

A run receives its own events too, as they are read from their topics. In each round

1. outcomes and applications are published;
2. when all of them have been read from their topics, the end of the round is announced: the present event time;
3. when everybody has a decision and everybody rejected an answer, the world takes them, and the next round begins.

So the members of a round, and with them all places and promises, do not depend on the speed of anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from .....environments.competition import Answer, Arrival, Season
from .....environments.rounds import Scoreboard
from .....schemas.events import APPLY_AGAIN, Application, ModelDecision, NoRecourse, Outcome, Recourse, Round
from ..simulation import OutgoingEvent, Run, SimulationStep


class SeasonRun(Run):
    """The season that one program serves; ``recorder`` records what people take up.

    ``prefix`` is put before every application's and applicant's id. No round is opened once the ``limit`` of
    ``next_events`` is reached.
    """

    def __init__(self, program: str, season: Season, recorder: Scoreboard, prefix: str = "") -> None:
        super().__init__(program, prefix)
        self._season, self._recorder = season, recorder
        self._recorded = 0
        self._members: list[str] = []
        # Ids of events that were published and not read yet.
        self._unread: set[str] = set()
        self._decided: dict[str, bool] = {}
        self._answers: dict[str, Recourse | NoRecourse] = {}
        self.play(self._rounds())

    def _rounds(self) -> Iterator[SimulationStep]:
        for number in range(self._season.rounds):
            id = f"{self.program}/{self._prefix}round/{number}"
            yield SimulationStep(id, self._open, lambda _: not self._unread, applies=True)
            yield SimulationStep(id, self._announce, lambda _: all(map(self._is_answered, self._members)))
            self._close()

    def receive(self, event: Struct) -> None:
        """Note what was read of the program's events."""
        match event:
            case Application() | Outcome():
                self._unread.discard(self._id(event))
            case ModelDecision():
                self._decided[event.application] = event.approved
            case Recourse() | NoRecourse():
                self._answers[event.application] = event
        super().receive(event)

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Whether it is of an event of this run."""
        return any(one.startswith(f"{self.program}/{self._prefix}") for one in ids)

    def _id(self, event: Application | Outcome) -> str:
        kind = "application" if isinstance(event, Application) else "outcome"
        return f"{self.program}/{event.application}/{kind}"

    def _open(self) -> Iterator[OutgoingEvent]:
        arrivals, self._unread = self._season.open(), set()
        self._members = [self._prefix + arrival.application for arrival in arrivals]
        for arrival in arrivals:
            for event in self._events(arrival):
                self._unread.add(self._id(event))
                # Outcomes of one program have one key: their order is the same in every run.
                key = event.application if isinstance(event, Application) else self.program
                yield OutgoingEvent(event, self._id(event), key.encode(), self._now_ms)

    def _events(self, arrival: Arrival) -> Iterator[Application | Outcome]:
        previous = None if arrival.previous is None else self._prefix + arrival.previous
        if previous is not None and arrival.taken is not None:
            yield Outcome(self.program, previous, "improved" if arrival.reached else "not_improved", arrival.taken)
        name, applicant = self._prefix + arrival.application, self._prefix + arrival.applicant
        yield Application(self.program, name, dict(arrival.features), applicant, previous)

    def _announce(self) -> Iterator[OutgoingEvent]:
        end_ms, self._now_ms = self._now_ms, self._now_ms + 1
        event = Round(self.program, datetime.fromtimestamp(end_ms / 1000, UTC), self._season.places)
        yield OutgoingEvent(event, self.awaited or "", self.program.encode(), end_ms)

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
    """The recourse as a person reads it: the score to reach, and by option the new values by feature."""
    goal = answer.target_score if isinstance(answer.target_score, float) else None
    if isinstance(answer, NoRecourse):
        return Answer(goal if answer.reason == APPLY_AGAIN else None)
    return Answer(
        goal, {one.id: {change.feature: float(change.target) for change in one.changes} for one in answer.options}
    )
