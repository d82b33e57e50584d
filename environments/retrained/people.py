"""What people do with the answers of a program whose model is trained again."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array
from ...schemas.events import Value


@dataclass(frozen=True, kw_only=True)
class RetrainedSettings:
    """When people apply, what they do with an answer, and when the model is replaced. All numbers are invented.

    Parameters
    ----------
    days
        The length of the world. Who would come back later is not seen any more.
    arrival_days
        Newcomers apply evenly on the days before this one.
    retrained_on
        The days that begin with a new model, in their order.
    valid_for_days
        Who comes back within this many days of an answer has done what was asked in time.
    attempts
        How often a person acts on an answer.
    acts
        The probability that a person acts on an answer at all.
    cheapest
        The probability that a person takes the cheapest of several options. Otherwise each option is as likely.
    complete
        The probability that a person carries the option out completely. Otherwise one of its changes is left out.
    heeds
        The probability that a person who has not yet carried an option out follows the message that a new model rejects
        it: takes a revised option, or gives up where there is none.
    soonest_days, carrying_mean_days, waiting_mean_days, latest_days
        Carrying an option out takes ``soonest_days`` and an exponential time with the mean ``carrying_mean_days``, at
        most ``latest_days``, in whole days. Between that and the next application there are as many, with the mean
        ``waiting_mean_days``.
    """

    days: int = 200
    arrival_days: int = 120
    retrained_on: tuple[int, ...] = (45, 90)
    valid_for_days: int = 90
    attempts: int = 2
    acts: float = 0.85
    cheapest: float = 0.7
    complete: float = 0.85
    heeds: float = 0.7
    soonest_days: int = 3
    carrying_mean_days: float = 15.0
    waiting_mean_days: float = 10.0
    latest_days: int = 50


Days = NDArray[np.int64]


class AttemptDraws(NamedTuple):
    """What decides the attempts of each person, shape (people, attempts) each.

    ``act``, ``cheapest``, ``complete`` and ``heed`` are uniform on [0, 1) and compared with the setting's probability.
    ``option`` picks among several options and ``left_out`` among the changes of one, both uniform on [0, 1).
    ``carrying`` and ``waiting`` are numbers of days.
    """

    act: Array
    cheapest: Array
    complete: Array
    heed: Array
    option: Array
    left_out: Array
    carrying: Days
    waiting: Days


def draw(settings: RetrainedSettings, people: int, seed: int) -> AttemptDraws:
    """The draws of ``people`` people."""
    shape = (people, settings.attempts)
    generators = [np.random.default_rng([seed, kind]) for kind in range(len(AttemptDraws._fields))]
    act, cheapest, complete, heed, option, left_out = (generator.random(shape) for generator in generators[:6])
    means = (settings.carrying_mean_days, settings.waiting_mean_days)
    carrying, waiting = (
        np.minimum(settings.soonest_days + generator.exponential(mean, shape).astype(np.int64), settings.latest_days)
        for generator, mean in zip(generators[6:], means, strict=True)
    )
    return AttemptDraws(act, cheapest, complete, heed, option, left_out, carrying, waiting)


Features = Mapping[str, Value]
"""Raw values by name."""


class ReadOption(NamedTuple):
    """An option as a person reads it: the new values by feature, and the cost in the program's unit."""

    targets: Features
    cost: float


class ReturningApplicant(NamedTuple):
    """An application. Of those who come back, ``previous`` is the earlier one, and ``taken`` the id of its option that
    they took. ``is_done`` says whether they have carried out all of it, in time."""

    application: str
    applicant: str
    features: Features
    previous: str | None = None
    taken: str | None = None
    is_done: bool = False


@dataclass(frozen=True)
class _Plan:
    """What a person does after an answer of the day ``given``.

    They take the option ``taken``, have carried it out on the day ``done`` and come back on the day ``back``.
    """

    person: int
    attempt: int
    features: Features
    given: int
    taken: str
    offer: ReadOption
    done: int
    back: int


class RetrainedPeople:
    """The people of one program.

        world = World(Settings(), newcomers, seed=0)
        for day in range(world.settings.days):
            for arrival in world.arrivals(day):
                taken = world.answer(arrival, day, offers)         # of those who are rejected
        world.revise("00017-0", day, {"2"}, revised)               # a new model rejects option 2

    Everybody's chance is drawn beforehand, so two programs with the same seed have the same people. Who takes an option
    comes back with exactly its target values, or without one of its changes. Who is rejected may act again. Who has
    carried an option out already keeps it, whatever becomes of it.
    """

    def __init__(self, settings: RetrainedSettings, newcomers: Sequence[Features], *, seed: int) -> None:
        self.settings, self.newcomers = settings, newcomers
        self._draws: AttemptDraws = draw(settings, len(newcomers), seed)
        self._plans: dict[str, _Plan] = {}

    def arrivals(self, day: int) -> list[ReturningApplicant]:
        """Who applies on a day: newcomers, then those who come back."""
        people, days = len(self.newcomers), self.settings.arrival_days
        first, last = (-(-people * number // days) for number in (day, day + 1)) if day < days else (0, 0)
        new = [ReturningApplicant(_name(who, 0), _applicant(who), self.newcomers[who]) for who in range(first, last)]
        back = sorted((plan.person, name) for name, plan in self._plans.items() if plan.back == day)
        return [*new, *(self._return(name, day) for _, name in back)]

    def answer(self, arrival: ReturningApplicant, day: int, offers: Mapping[str, ReadOption]) -> str | None:
        """Tell a rejected person their options by id; return the one they would take, None without any.

        Some do not act on it.
        """
        person, attempt = (int(part) for part in arrival.application.rsplit("-", 2)[-2:])
        if not offers:
            return None
        # Who has no attempt left would take what they took last.
        drawn = min(attempt, self.settings.attempts - 1)
        taken = self._pick(person, drawn, offers)
        if attempt < self.settings.attempts and self._draws.act[person, attempt] < self.settings.acts:
            plan = _Plan(person, attempt, arrival.features, day, taken, offers[taken], 0, 0)
            self._plans[arrival.application] = self._begun(plan, day)
        return taken

    def revise(self, application: str, day: int, broken: Container[str], offers: Mapping[str, ReadOption]) -> None:
        """Tell a person that a new model rejects these options of theirs, and which ones stand for them."""
        plan = self._plans.get(application)
        if plan is None or plan.taken not in broken or plan.done < day:
            return
        if self._draws.heed[plan.person, plan.attempt] >= self.settings.heeds:
            return
        if not offers:
            del self._plans[application]
            return
        taken = self._pick(plan.person, plan.attempt, offers)
        self._plans[application] = self._begun(replace(plan, given=day, taken=taken, offer=offers[taken]), day)

    def _begun(self, plan: _Plan, day: int) -> _Plan:
        done = day + int(self._draws.carrying[plan.person, plan.attempt])
        return replace(plan, done=done, back=done + int(self._draws.waiting[plan.person, plan.attempt]))

    def _pick(self, person: int, attempt: int, offers: Mapping[str, ReadOption]) -> str:
        cheapest = min(offers, key=lambda id: (offers[id].cost, id))
        if self._draws.cheapest[person, attempt] < self.settings.cheapest:
            return cheapest
        return sorted(offers)[int(self._draws.option[person, attempt] * len(offers))]

    def _return(self, name: str, day: int) -> ReturningApplicant:
        plan = self._plans.pop(name)
        person, attempt, targets = plan.person, plan.attempt, dict(plan.offer.targets)
        is_complete = bool(self._draws.complete[person, attempt] < self.settings.complete)
        if not is_complete:
            del targets[list(targets)[int(self._draws.left_out[person, attempt] * len(targets))]]
        is_done = is_complete and day - plan.given < self.settings.valid_for_days
        features = {**plan.features, **targets}
        return ReturningApplicant(_name(person, attempt + 1), _applicant(person), features, name, plan.taken, is_done)


def _name(person: int, attempt: int) -> str:
    return f"{person:05}-{attempt}"


def _applicant(person: int) -> str:
    return f"person-{person}"
