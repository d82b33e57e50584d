"""Plays a setting through the product, in event time: applications, people who come back, and outcomes.

One newcomer applies a day. Who is told of options takes the one that is easiest for them. Who carries it out comes back
with what they have become, within ``BACK_DAYS``, and an outcome is reported when and as often as the setting says: of
what really helped. Nobody hears of the others again.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from onward.benchmarks.arena.load import InputRecord
from onward.benchmarks.arena.memory_worker import MemoryWorker
from onward.benchmarks.real.equations import People
from onward.benchmarks.real.program import RealProgram
from onward.benchmarks.real.settings import Setting
from onward.schemas.events import Application, NoRecourse, Option, Outcome, Recourse, Result
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.engine.rewards.summary import CERTAIN, USUAL

Floats = NDArray[np.float64]

START_MS, DAY_MS = 1_790_000_000_000, 24 * 60 * 60 * 1000
BACK_DAYS = (15, 60)
"""From when to when after the recourse people come back who carry an option out."""
_answer = msgspec.json.Decoder(Recourse | NoRecourse)
_encode = msgspec.json.Encoder().encode


class Told(NamedTuple):
    """One option of somebody, as it is stated and as it is.

    ``targets`` (K,) are the columns that it asks for, ``execution`` and ``help`` the true probabilities, ``holds``
    whether the model accepts who carries it out, with all that follows. ``interval`` is that of the stated help, where
    options have one.
    """

    id: str
    targets: Floats
    execution: float
    help: float
    stated_execution: float
    stated_help: float
    holds: bool
    interval: tuple[float, float] | None = None

    @property
    def reward(self) -> float:
        """How probably the person is better off."""
        return self.execution * self.help


class Case(NamedTuple):
    """An application that is not yet answered: which newcomer's, how often they have come back, and what they are."""

    newcomer: int
    returns: int
    person: People

    @property
    def id(self) -> str:
        """Its name."""
        return f"{self.newcomer}-{self.returns}"


def told_of(program: RealProgram, person: People, answer: Recourse | NoRecourse) -> list[Told]:
    """The options of an answer to one person."""
    options = answer.options if isinstance(answer, Recourse) else ()
    if not options:
        return []
    names = [column.name for column in program.equations.columns]
    targets = np.repeat(person.columns, len(options), axis=0)
    for row, option in zip(targets, options, strict=True):
        for change in option.changes:
            row[names.index(change.feature)] = change.target
    carried = program.equations.carried(repeated(person, len(options)), targets)
    holds = program.accepts(carried.columns)
    numbers = zip(targets, carried.execution.tolist(), carried.help.tolist(), holds.tolist(), strict=True)
    return [
        Told(option.id, target, execution, help, *_stated(option), holds, getattr(option, "improvement_interval", None))
        for option, (target, execution, help, holds) in zip(options, numbers, strict=True)
    ]


def taken_of(told: Sequence[Told]) -> Told | None:
    """The option that a person takes: the one that they most probably carry out."""
    return max(told, key=lambda option: option.execution, default=None)


def repeated(person: People, times: int) -> People:
    """One person as many times."""
    return People(*(np.repeat(part, times, axis=0) for part in person))


def _stated(option: Option) -> tuple[float, float]:
    learned, help = option.learned_execution_probability, option.expected_help
    assert help is not UNSET, "the options of a drafted program are to help"
    return option.execution_probability if learned is None else learned, help


class Play:
    """One play of a setting: ``told`` holds the options of each newcomer, as soon as they are answered.

    ``named_after`` holds how many outcomes were known when a feature was first found to help less than expected.
    """

    def __init__(self, program: RealProgram, setting: Setting, people: People, seed: int) -> None:
        self._program, self._people, self._seed = program, people, seed
        self._setting = setting
        self._due: list[tuple[int, int, Case | Outcome]] = []
        self._numbers = self._outcomes = 0
        self.told: list[list[Told]] = []
        self.named_after: dict[str, int] = {}

    def run(self, state: Path) -> Play:
        """Play all newcomers; ``state`` is a new folder of the worker."""
        asyncio.run(self._run(state))
        return self

    async def _run(self, state: Path) -> None:
        async with MemoryWorker(self._program.spec, state, keeps_answers=True) as worker:
            for newcomer in range(len(self._people.hidden)):
                day = START_MS + newcomer * DAY_MS
                await self._events_before(worker, day)
                case = Case(newcomer, 0, self._people.only(slice(newcomer, newcomer + 1)))
                self.told.append(await self._apply(worker, case, day))

    async def _events_before(self, worker: MemoryWorker, time_ms: int) -> None:
        while self._due and self._due[0][0] < time_ms:
            at, number, event = heapq.heappop(self._due)
            if isinstance(event, Case):
                await self._apply(worker, event, at)
            else:
                await worker.tell([_record(event, f"outcome-{number}", event.application, at)], at)
                self._outcomes += 1
                for feature in _found_to_help_less(worker) - self.named_after.keys():
                    self.named_after[feature] = self._outcomes

    async def _apply(self, worker: MemoryWorker, case: Case, at: int) -> list[Told]:
        """Let somebody apply; what they do about the answer follows."""
        [features] = self._program.rows(case.person.columns)
        previous = f"{case.newcomer}-{case.returns - 1}" if case.returns else None
        name = self._program.program.name
        event = Application(name, case.id, features, applicant=str(case.newcomer), previous=previous)
        await worker.serve([_record(event, f"application-{case.id}", case.id, at)], at)
        await worker.pass_time(at)
        answers = [_answer.decode(record.value or b"") for record in worker.answers()]
        told = [option for answer in answers for option in told_of(self._program, case.person, answer)]
        taken = taken_of(told)
        if taken is not None:
            random = np.random.default_rng([self._seed, case.newcomer, case.returns])
            for days, follows in self.what_follows(case, taken, random):
                self._numbers += 1
                heapq.heappush(self._due, (at + int(days * DAY_MS), self._numbers, follows))
        return told

    def what_follows(
        self, case: Case, taken: Told, random: np.random.Generator
    ) -> Iterator[tuple[float, Case | Outcome]]:
        """What is heard of somebody after their recourse, and how many days after it.

        Who carries their option out comes back, and what came of it may be reported.
        """
        acts, helps, reports, back, report = random.random(5).tolist()
        if acts >= taken.execution:
            return
        carried = self._program.equations.carried(case.person, taken.targets[np.newaxis])
        low, high = self._program.bounds
        person = case.person._replace(things=carried.things, columns=np.clip(carried.columns, low, high))
        yield _between(BACK_DAYS, back), Case(case.newcomer, case.returns + 1, person)
        if reports < self._setting.reporting:
            result: Result = "improved" if helps < taken.help else "not_improved"
            option = taken.id if self._setting.names_option else None
            outcome = Outcome(self._program.program.name, case.id, result, option)
            yield _between(self._setting.report_days, report), outcome


def _found_to_help_less(worker: MemoryWorker) -> set[str]:
    """The features of which the board says so."""
    omega, deviation = (worker.gauge(name, "feature") for name in ("onward_feature_omega", "onward_feature_omega_sd"))
    return {feature for feature, value in omega.items() if value - CERTAIN * deviation[feature] > USUAL}


def _between(days: tuple[int, int], share: float) -> float:
    return days[0] + share * (days[1] - days[0])


def _record(event: Application | Outcome, id: str, key: str, at: int) -> InputRecord:
    headers = cloud_event_headers(id, "benchmark", ce_type(event), at)
    return InputRecord(key.encode(), _encode(event), headers)
