"""Plays a setting through the product, in event time: applications, people who come back, and outcomes.

One newcomer applies a day. Who is told of options takes the one that is easiest for them. Who carries it out comes back
with what they have become, and an outcome is reported when and as often as the setting says: of what really helped.
"""

from __future__ import annotations

import asyncio
import heapq
from pathlib import Path

import msgspec
import numpy as np

from onward.benchmarks.arena.load import InputRecord
from onward.benchmarks.arena.memory_worker import MemoryWorker
from onward.benchmarks.real.program import RealProgram
from onward.benchmarks.real.settings import StudiedSetting
from onward.environments.lender import LenderPeople, OpenApplication, Report, StatedOption, taken_of, what_follows
from onward.schemas.events import Application, NoRecourse, Outcome, Recourse, Result
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.engine.rewards.summary import CERTAIN, USUAL

START_MS, DAY_MS = 1_790_000_000_000, 24 * 60 * 60 * 1000
_answer = msgspec.json.Decoder(Recourse | NoRecourse)
_encode = msgspec.json.Encoder().encode


def told_of(program: RealProgram, person: LenderPeople, answer: Recourse | NoRecourse) -> list[StatedOption]:
    """The options of an answer to one person."""
    return program.stated_options(person, answer.options if isinstance(answer, Recourse) else ())


class Play:
    """One play of a setting: ``told`` holds the options of each newcomer, as soon as they are answered.

    ``named_after`` holds how many outcomes were known when a feature was first found to help less than expected.
    """

    def __init__(self, program: RealProgram, setting: StudiedSetting, people: LenderPeople, seed: int) -> None:
        self._program, self._people, self._seed = program, people, seed
        self._setting = setting
        self._due: list[tuple[int, int, OpenApplication | Report]] = []
        self._numbers = self._outcomes = 0
        self.told: list[list[StatedOption]] = []
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
                case = OpenApplication(newcomer, 0, self._people.only(slice(newcomer, newcomer + 1)))
                self.told.append(await self._apply(worker, case, day))

    async def _events_before(self, worker: MemoryWorker, time_ms: int) -> None:
        while self._due and self._due[0][0] < time_ms:
            at, number, event = heapq.heappop(self._due)
            if isinstance(event, OpenApplication):
                await self._apply(worker, event, at)
            else:
                result: Result = "improved" if event.helped else "not_improved"
                outcome = Outcome(self._program.program.name, event.application, result, event.option)
                await worker.tell([_record(outcome, f"outcome-{number}", event.application, at)], at)
                self._outcomes += 1
                for feature in _found_to_help_less(worker) - self.named_after.keys():
                    self.named_after[feature] = self._outcomes

    async def _apply(self, worker: MemoryWorker, case: OpenApplication, at: int) -> list[StatedOption]:
        """Let somebody apply; what they do about the answer follows."""
        [features] = self._program.rows(case.person.columns)
        name = self._program.program.name
        event = Application(name, case.id, features, applicant=str(case.newcomer), previous=case.previous)
        await worker.serve([_record(event, f"application-{case.id}", case.id, at)], at)
        await worker.pass_time(at)
        answers = [_answer.decode(record.value or b"") for record in worker.answers()]
        told = [option for answer in answers for option in told_of(self._program, case.person, answer)]
        taken = taken_of(told)
        if taken is not None:
            random = np.random.default_rng([self._seed, case.newcomer, case.returns])
            for days, follows in what_follows(self._program, self._setting, case, taken, random):
                self._numbers += 1
                heapq.heappush(self._due, (at + int(days * DAY_MS), self._numbers, follows))
        return told


def _found_to_help_less(worker: MemoryWorker) -> set[str]:
    """The features of which the board says so."""
    omega, deviation = (worker.gauge(name, "feature") for name in ("onward_feature_omega", "onward_feature_omega_sd"))
    return {feature for feature, value in omega.items() if value - CERTAIN * deviation[feature] > USUAL}


def _record(event: Application | Outcome, id: str, key: str, at: int) -> InputRecord:
    headers = cloud_event_headers(id, "benchmark", ce_type(event), at)
    return InputRecord(key.encode(), _encode(event), headers)
