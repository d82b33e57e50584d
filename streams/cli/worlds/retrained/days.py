"""Simulates people whose programs get new models while they carry out what was asked of them.

    simulation = RetrainedSimulation([ServedWorld("loans-robust", world, models, approves, recorder)], days)

It receives lines of the journal too. Each program takes one step at a time, and their days begin together:

1. A new model is announced. The step is done when the model stands in the journal and, where options were open, all
   that it means for them has been read.
2. An application is sent. The step is done when its answer has been read; for those who are approved, whom nobody
   answers, when it stands in the journal.
3. Who comes back has an outcome, for the option that they took. The step is done when its fate has been read.

So the order of the journal does not depend on the speed of anything. Event time is that of the simulated days, the last
of which is the day before the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from .....environments.retrained import Arrival, Offer, World
from .....environments.rounds import Scoreboard
from .....schemas.events import (
    Application,
    Model,
    Option,
    Outcome,
    PromiseChange,
    Recourse,
    Revalidation,
    Value,
)
from ..simulation import AwaitedAnswer, OutgoingEvent, Run, Simulation, SimulationStep, fate_of, is_journaled

DAY_MS = 86_400_000

Features = Mapping[str, Value]


class NewModel(NamedTuple):
    """A model that decides from the beginning of a day on, and the address and hash of its manifest."""

    day: int
    version: str
    manifest: str
    sha256: str


class Taken(NamedTuple):
    """The option that a person takes up: who they are, what they become, its cost, and the model that answered."""

    features: Features
    targets: Features
    cost: float
    model: int


class ReturnsSummary(Struct, frozen=True):
    """Those who came back to a program after they had done what was asked, while one model decided.

    ``model`` is its number from 0, ``done`` counts them, and ``rejected`` those whom it rejected.
    """

    program: str
    model: int
    done: int
    rejected: int


class ServedWorld(NamedTuple):
    """A program, its people, and the models that it gets.

    ``approves(model, features)`` is whether a model approves somebody; models are numbered, the program's first is 0.
    ``recorder`` records a ``Taken`` for each answer, None for those without options.
    """

    program: str
    world: World
    models: Sequence[NewModel]
    approves: Callable[[int, Features], bool]
    recorder: Scoreboard


class RetrainedSimulation(Simulation):
    """Plays ``days`` days for each program. ``prefix`` is put before every application's and applicant's id."""

    def __init__(self, worlds: Sequence[ServedWorld], days: int, prefix: str = "") -> None:
        self._programs = [_Run(simulated, prefix) for simulated in worlds]
        super().__init__(self._programs)
        self.total = days
        self._start_ms: int | None = None
        self.days = 0
        """The days that have begun."""

    @property
    def done(self) -> bool:
        """Whether every day is over."""
        return self.days == self.total and super().done

    @property
    def returns(self) -> Sequence[ReturnsSummary]:
        """Those who did what was asked, by program and model."""
        return [returns for run in self._programs for returns in run.returns()]

    def next_events(self, now_ms: int, limit: int | None = None) -> list[OutgoingEvent]:
        """The events to publish now; first the next day begins where all programs are done with the last one."""
        if self._start_ms is None:
            self._start_ms = (now_ms // DAY_MS - self.total) * DAY_MS
        while super().done and self.days < self.total:
            for run in self._programs:
                run.begin(self.days, self._start_ms + self.days * DAY_MS)
            self.days += 1
        return super().next_events(now_ms, limit)


class _Run(Run):
    """The simulation of one program."""

    def __init__(self, simulated: ServedWorld, prefix: str) -> None:
        program, self._world, self._models, self._approves, self._recorder = simulated
        super().__init__(program, prefix)
        self._model = self._answers = self._time_ms = 0
        self._open: Counter[str] = Counter()
        self._done: Counter[int] = Counter()
        self._turned_away: Counter[int] = Counter()
        self._rejected: set[str] = set()

    def is_rejected(self, application: str) -> bool:
        return application in self._rejected

    def returns(self) -> Iterator[ReturnsSummary]:
        for model in range(len(self._models) + 1):
            yield ReturnsSummary(self.program, model, self._done[model], self._turned_away[model])

    def begin(self, day: int, time_ms: int) -> None:
        self._day, self._time_ms = day, time_ms
        self.play(self._today())

    def receive(self, event: Struct) -> None:
        if isinstance(event, PromiseChange) and event.status == "expired":
            self._open.pop(event.application, None)
        super().receive(event)

    def _today(self) -> Iterator[SimulationStep]:
        for model in self._models:
            if model.day == self._day:
                yield from self._announce(model)
        for arrival in self._world.arrivals(self._day):
            yield from self._apply(arrival)

    def _announce(self, model: NewModel) -> Iterator[SimulationStep]:
        effects = _Effects(model.version)
        event = Model(self.program, model.version, model.manifest, model.sha256)
        outgoing = self._outgoing(event, f"model/{self._prefix}{model.version}", self.program)
        yield _step(outgoing, effects.add if self._open.total() else is_journaled(outgoing.id))
        self._model += 1
        for name in sorted(effects.broken):
            revised, broken = effects.revised.get(name, ()), frozenset(effects.broken[name])
            self._open[name] += len(revised) - len(broken)
            self._world.revise(name.removeprefix(self._prefix), self._day, broken, self._offers(revised))

    def _apply(self, arrival: Arrival) -> Iterator[SimulationStep]:
        name, applicant = self._prefix + arrival.application, self._prefix + arrival.applicant
        previous = None if arrival.previous is None else self._prefix + arrival.previous
        event = Application(self.program, name, dict(arrival.features), applicant, previous)
        outgoing = self._outgoing(event, f"application/{name}", name)
        is_approved = self._approves(self._model, arrival.features)
        if is_approved:
            yield _step(outgoing, is_journaled(outgoing.id))
        else:
            self._rejected.add(name)
            answer = AwaitedAnswer(name)
            yield _step(outgoing, answer.is_read)
            self._take(arrival, answer.options or ())
        if previous is not None:
            self._done[self._model] += arrival.is_done
            self._turned_away[self._model] += arrival.is_done and not is_approved
            self._open.pop(previous, None)
            yield self._outcome(previous, arrival.taken, is_approved)

    def _take(self, arrival: Arrival, options: Sequence[Option]) -> None:
        self._open[self._prefix + arrival.application] = sum(option.status == "open" for option in options)
        id = self._world.answer(arrival, self._day, self._offers(options))
        taken = [Taken(arrival.features, _targets(one), one.cost, self._model) for one in options if one.id == id]
        self._recorder.record(self._answers, taken[0] if taken else None)
        self._answers += 1

    def _offers(self, options: Sequence[Option]) -> dict[str, Offer]:
        """Options by id, as people read them."""
        return {option.id: Offer(_targets(option), option.cost) for option in options}

    def _outcome(self, name: str, option: str | None, is_approved: bool) -> SimulationStep:
        event = Outcome(self.program, name, "improved" if is_approved else "not_improved", option)
        outgoing = self._outgoing(event, f"outcome/{name}", name)
        return _step(outgoing, fate_of(outgoing.id))

    def _outgoing(self, event: Application | Outcome | Model, id: str, key: str) -> OutgoingEvent:
        # No two events of a program have one event time: it shows their order.
        self._time_ms += 1
        return OutgoingEvent(event, f"{self.program}/{id}", key.encode(), self._time_ms)


def _step(event: OutgoingEvent, is_over: Callable[[Struct], bool]) -> SimulationStep:
    return SimulationStep(event.id, lambda: [event], is_over, isinstance(event.event, Application))


class _Effects:
    """Gathers what a new model means for the open options, until all of it has been read.

    ``broken`` holds the ids of the options that it rejects, and ``revised`` those that stand for them, by application.
    """

    def __init__(self, version: str) -> None:
        self._version = version
        self._whole: Revalidation | None = None
        self.broken: dict[str, tuple[str, ...]] = {}
        self.revised: dict[str, tuple[Option, ...]] = {}

    def add(self, event: Struct) -> bool:
        """Whether the end of the scan, every broken option and every revised recourse have been read."""
        match event:
            case Revalidation(model=self._version):
                self._whole = event
            case PromiseChange(reason="model", options=tuple() as options, model=self._version):
                self.broken[event.application] = options
            case Recourse(is_revision=True, model=self._version):
                self.revised[event.application] = event.options
        whole = self._whole
        return whole is not None and (whole.broken, whole.replaced) == (_count(self.broken), _count(self.revised))


def _count(parts: Mapping[str, Sequence[object]]) -> int:
    return sum(map(len, parts.values()))


def _targets(option: Option) -> Features:
    return option.after
