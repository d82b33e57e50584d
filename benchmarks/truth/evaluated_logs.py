"""Logs of programs with three options, made by the production engine in memory, and other policies evaluated on them.

What an option is worth is drawn: it is carried out with its execution probability and then helps with a probability of
its arm, whatever stands beside it. So what a policy would have earned is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from onward.agents.arrays import Array
from onward.agents.evaluation import Evaluation
from onward.schemas.events import Application, NoRecourse, Outcome, Recourse
from onward.streams.metrics import Metrics
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.program import Program
from onward.streams.records import TopicPartition
from onward.streams.replay.evaluation import PolicyEvaluator, with_choice, without_exploration
from onward.streams.replay.journal_replay import JournalReplay, ReplayedFate, ReplayedStep
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.pipeline import START_MS, PipelineRun, Sender, idle_tick, no_clock
from onward.testing.program import build_program

OPTIONS, MOVABLE = 3, 5
CHOICES = ("posterior", "residual", "stages", "linucb", "protoar")
"""Those of the logs, and those that are evaluated on them: each log is asked about ``TARGETS`` that are not its own."""
TARGETS = 3
EXPLORATION = (0.1, 0.2, 0.3)
CHUNK, MINUTE_MS = 100, 60_000
WINDOW = {"time": "PT6H", "lateness": "PT1M"}
FAR_MS = 1000 * MINUTE_MS
JOURNAL = TopicPartition("journal", 0)
_FEATURES: Sequence[Mapping[str, Any]] = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
    {"name": "income", "type": "continuous", "bounds": [0, 100], "step": 5, "mutable": "up"},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
    *(
        {"name": name, "type": "integer", "bounds": [0, 20], "mutable": "up", "missing": 5}
        for name in ("savings", "tenure", "hours")
    ),
)


class EvaluatedLog(NamedTuple):
    """One log: its policy and share of exploration, the evaluated one, what is estimated, and what is true."""

    choice: str
    target: str
    exploration: float
    evaluation: Evaluation
    truth: float


def evaluated_logs(number: int, people: int, seed: int) -> Iterator[EvaluatedLog]:
    """So many logs, each of as many rejected people, under the policies that are evaluated on it."""
    for log in range(number):
        place = log % len(CHOICES)
        targets = [CHOICES[(place + 1 + more) % len(CHOICES)] for more in range(TARGETS)]
        random = np.random.default_rng([seed, log])
        yield from _evaluated(CHOICES[place], targets, EXPLORATION[log % len(EXPLORATION)], people, random)


def _evaluated(
    choice: str, targets: Sequence[str], exploration: float, people: int, random: np.random.Generator
) -> Iterator[EvaluatedLog]:
    program = _program(choice, exploration, random)
    world = _World(program, random)
    with TemporaryDirectory() as name:
        run = PipelineRun({program.name: program}, Path(name))
        asyncio.run(_played(run, world, people))
        with closing(JournalReplay(program, Topics(), JOURNAL, Path(name) / "again")) as replay:
            fed = (event for record in run.broker.logs[JOURNAL] for event in replay.feed(record))
            events = [*fed, *replay.rest()]
    for target in targets:
        evaluator = PolicyEvaluator(program, without_exploration(with_choice(program, target, {})))
        truth = _followed(world, events, evaluator)
        yield EvaluatedLog(choice, target, exploration, evaluator.evaluation().evaluation, truth)


def _program(choice: str, exploration: float, random: np.random.Generator) -> Program:
    weights = np.concatenate([np.zeros(2), random.uniform(1.5, 3.0, MOVABLE) * [1, -1, 1, 1, 1]])
    return build_program(
        window=WINDOW,
        choice=choice,
        policy={
            "generator": "search",
            "options": OPTIONS,
            "exploration": exploration,
            "objective": "improvement",
            "seed": int(random.integers(2**31)),
        },
        features=_FEATURES,
        model=cast(Any, SimpleNamespace(score=LogisticScore(weights, -3.5))),
    )


class _World:
    """People, and what becomes of them: ``helps`` (K,) is how probably an option of each arm helps if carried out."""

    def __init__(self, program: Program, random: np.random.Generator) -> None:
        self._random = random
        self.helps = random.uniform(0.2, 0.9, len(program.arms))

    def application(self) -> Mapping[str, Any]:
        """The features of somebody."""
        random = self._random
        few = {name: int(random.integers(0, 9)) for name in ("savings", "tenure", "hours")}
        region = ("north", "south")[random.integers(2)]
        return {
            "region": region,
            "income": float(5 * random.integers(0, 9)),
            "debts": int(random.integers(3, 11)),
            **few,
        }

    def rewards(self, arms: Sequence[int], execution: Array) -> Array:
        """The probability of each option that it is carried out and helps. The sum of ``OPTIONS`` is at most 1."""
        return self.helps[list(arms)] * execution / OPTIONS

    def helped(self, answer: Recourse) -> str | None:
        """The id of the option that has helped; None where none has."""
        execution = np.array([option.execution_probability for option in answer.options])
        shares = self.rewards([int(option.candidate) for option in answer.options], execution).cumsum()
        place = int(np.searchsorted(shares, self._random.random(), side="right"))
        return answer.options[place].id if place < len(answer.options) else None


async def _played(run: PipelineRun, world: _World, people: int) -> None:
    """Let people apply, and tell of whom the engine has helped, until everything is closed."""
    parts = run.topics, run.programs, run.broker, Metrics(), no_clock, ProcessorConfig(run.directory / "ledger")
    processor, sender, folded, answered = PartitionProcessor(*parts), Sender(), 0, 0
    await processor.assigned([JOURNAL])
    [program] = run.programs
    for first in range(0, people, CHUNK):
        numbers = range(first, min(people, first + CHUNK))
        await run.ingest(
            [
                sender.record(
                    "applications",
                    Application(program, f"p{number}", dict(world.application())),
                    time_ms=START_MS + number * MINUTE_MS,
                    id=f"a{number}",
                )
                for number in numbers
            ]
        )
        folded = await _folded(run, processor, folded)
        answers = run.broker.logs[run.topics.recourse, 0]
        told = [msgspec.json.decode(record.value or b"", type=Recourse | NoRecourse) for record in answers[answered:]]
        answered = len(answers)
        found = [answer for answer in told if isinstance(answer, Recourse)]
        helped = [(answer.application, option) for answer in found if (option := world.helped(answer)) is not None]
        at_ms = START_MS + numbers[-1] * MINUTE_MS
        await run.ingest(
            [
                sender.record("outcomes", Outcome(program, name, "improved", option), time_ms=at_ms, id=f"o{name}")
                for name, option in helped
            ]
        )
        run.broker.logs[JOURNAL].append(idle_tick(run, at_ms))
        folded = await _folded(run, processor, folded)
    run.broker.logs[JOURNAL].append(idle_tick(run, START_MS + people * MINUTE_MS + FAR_MS))
    await _folded(run, processor, folded)
    await processor.revoked([JOURNAL])


async def _folded(run: PipelineRun, processor: PartitionProcessor, folded: int) -> int:
    """Fold the journal from a record on; return how many records there are."""
    journal = run.broker.logs[JOURNAL]
    await processor.handle(journal[folded:])
    return len(journal)


def _followed(world: _World, events: Sequence[object], evaluator: PolicyEvaluator) -> float:
    """Let a policy take every step; return what its picks are worth at the steps that count."""
    worth: list[tuple[float, bool]] = []
    is_unsupported = False
    for event in events:
        if isinstance(event, ReplayedFate):
            evaluator.close(event)
        elif isinstance(event, ReplayedStep):
            wanted, options, taken = evaluator.step(event), event.options, {arm for arm, _ in event.picked}
            if not wanted:
                continue
            execution = options.execution[options.arm.searchsorted(wanted)]
            is_certain = all(propensity >= 1.0 for _, propensity in event.picked)
            is_unsupported |= is_certain and not set(wanted) <= taken
            is_fixed = is_certain and not set(options.arm.tolist()) <= taken
            worth.append((float(world.rewards(wanted, execution).sum()), is_fixed))
    return float(np.mean([value for value, is_fixed in worth if not (is_unsupported and is_fixed)]))
