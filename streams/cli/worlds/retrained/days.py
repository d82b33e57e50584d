"""Simulates people whose programs get new models while they carry out what was asked of them.

    simulation = RetrainedSimulation([ServedWorld("loans-robust", world, models, approves, recorder)], days)

Beside applications and outcomes new models are announced. That step is done when the model stands in the journal and,
where options were open, all that it means for them has been read. Who comes back has an outcome, for the option that
they took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from .....environments.retrained import Arrival, Offer, World
from .....environments.rounds import Scoreboard
from .....schemas.events import Application, Model, Option, PromiseChange, Recourse, Revalidation, Value
from ..days import DayRun, DaysSimulation, step_of
from ..simulation import SimulationStep, is_journaled

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


class RetrainedSimulation(DaysSimulation):
    """Plays ``days`` days for each program. ``prefix`` is put before every application's and applicant's id."""

    def __init__(self, worlds: Sequence[ServedWorld], days: int, prefix: str = "") -> None:
        self._programs = [_Run(simulated, prefix) for simulated in worlds]
        super().__init__(self._programs, days)

    @property
    def returns(self) -> Sequence[ReturnsSummary]:
        """Those who did what was asked, by program and model."""
        return [returns for run in self._programs for returns in run.returns()]


class _Run(DayRun):
    """The simulation of one program."""

    def __init__(self, simulated: ServedWorld, prefix: str) -> None:
        program, self._world, self._models, self._approves, self._recorder = simulated
        super().__init__(program, prefix)
        self._model = self._answers = 0
        self._open: Counter[str] = Counter()
        self._done: Counter[int] = Counter()
        self._turned_away: Counter[int] = Counter()

    def returns(self) -> Iterator[ReturnsSummary]:
        for model in range(len(self._models) + 1):
            yield ReturnsSummary(self.program, model, self._done[model], self._turned_away[model])

    def receive(self, event: Struct) -> None:
        if isinstance(event, PromiseChange) and event.status == "expired":
            self._open.pop(event.application, None)
        super().receive(event)

    def _today(self) -> Iterator[SimulationStep]:
        for model in self._models:
            if model.day == self._day:
                yield from self._announce(model)
        for arrival in self._world.arrivals(self._day):
            yield from self._arrive(arrival)

    def _announce(self, model: NewModel) -> Iterator[SimulationStep]:
        effects = _Effects(model.version)
        event = Model(self.program, model.version, model.manifest, model.sha256)
        outgoing = self._outgoing(event, f"model/{self._prefix}{model.version}", self.program)
        yield step_of(outgoing, effects.add if self._open.total() else is_journaled(outgoing.id))
        self._model += 1
        for name in sorted(effects.broken):
            revised, broken = effects.revised.get(name, ()), frozenset(effects.broken[name])
            self._open[name] += len(revised) - len(broken)
            self._world.revise(name.removeprefix(self._prefix), self._day, broken, self._offers(revised))

    def _arrive(self, arrival: Arrival) -> Iterator[SimulationStep]:
        name, applicant = self._prefix + arrival.application, self._prefix + arrival.applicant
        previous = None if arrival.previous is None else self._prefix + arrival.previous
        event = Application(self.program, name, dict(arrival.features), applicant, previous)
        is_approved = self._approves(self._model, arrival.features)
        options = yield from self._apply(event, is_approved=is_approved)
        if options is not None:
            self._take(arrival, options)
        if previous is not None:
            self._done[self._model] += arrival.is_done
            self._turned_away[self._model] += arrival.is_done and not is_approved
            self._open.pop(previous, None)
            yield self._outcome(previous, is_improved=is_approved, option=arrival.taken)

    def _take(self, arrival: Arrival, options: Sequence[Option]) -> None:
        self._open[self._prefix + arrival.application] = sum(option.status == "open" for option in options)
        id = self._world.answer(arrival, self._day, self._offers(options))
        taken = [Taken(arrival.features, _targets(one), one.cost, self._model) for one in options if one.id == id]
        self._recorder.record(self._answers, taken[0] if taken else None)
        self._answers += 1

    def _offers(self, options: Sequence[Option]) -> dict[str, Offer]:
        """Options by id, as people read them."""
        return {option.id: Offer(_targets(option), option.cost) for option in options}


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
