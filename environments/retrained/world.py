"""What people do with the answers of a program whose model is trained again."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...schemas.events import Value
from .draws import Draws, draw
from .settings import Settings

Features = Mapping[str, Value]
"""Raw values by name."""


class Offer(NamedTuple):
    """An option as a person reads it: the new values by feature, and the cost in the program's unit."""

    targets: Features
    cost: float


class Arrival(NamedTuple):
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
    offer: Offer
    done: int
    back: int


class World:
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

    def __init__(self, settings: Settings, newcomers: Sequence[Features], *, seed: int) -> None:
        self.settings, self.newcomers = settings, newcomers
        self._draws: Draws = draw(settings, len(newcomers), seed)
        self._plans: dict[str, _Plan] = {}

    def arrivals(self, day: int) -> list[Arrival]:
        """Who applies on a day: newcomers, then those who come back."""
        people, days = len(self.newcomers), self.settings.arrival_days
        first, last = (-(-people * one // days) for one in (day, day + 1)) if day < days else (0, 0)
        new = [Arrival(_name(who, 0), _applicant(who), self.newcomers[who]) for who in range(first, last)]
        back = sorted((plan.person, name) for name, plan in self._plans.items() if plan.back == day)
        return [*new, *(self._return(name, day) for _, name in back)]

    def answer(self, arrival: Arrival, day: int, offers: Mapping[str, Offer]) -> str | None:
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

    def revise(self, application: str, day: int, broken: Container[str], offers: Mapping[str, Offer]) -> None:
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

    def _pick(self, person: int, attempt: int, offers: Mapping[str, Offer]) -> str:
        cheapest = min(offers, key=lambda id: (offers[id].cost, id))
        if self._draws.cheapest[person, attempt] < self.settings.cheapest:
            return cheapest
        return sorted(offers)[int(self._draws.option[person, attempt] * len(offers))]

    def _return(self, name: str, day: int) -> Arrival:
        plan = self._plans.pop(name)
        person, attempt, targets = plan.person, plan.attempt, dict(plan.offer.targets)
        is_complete = bool(self._draws.complete[person, attempt] < self.settings.complete)
        if not is_complete:
            del targets[list(targets)[int(self._draws.left_out[person, attempt] * len(targets))]]
        is_done = is_complete and day - plan.given < self.settings.valid_for_days
        features = {**plan.features, **targets}
        return Arrival(_name(person, attempt + 1), _applicant(person), features, name, plan.taken, is_done)


def _name(person: int, attempt: int) -> str:
    return f"{person:05}-{attempt}"


def _applicant(person: int) -> str:
    return f"person-{person}"
