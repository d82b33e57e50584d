"""Which candidate the learner takes for each rejected person of a chunk.

New applications that come one after the other teach the learner nothing in between, so their steps are taken ahead, as
a run, when the first of them is answered. What is picked is what single steps would pick: a run ends where something
could be learned, and holds only people of whom it is certain that they will be answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from ...agents.choices import Exploration, Run
from ...schemas.encoding import Problem
from ...schemas.events import DeadLetter, Model, Tick
from ..journal.journal import CaseKey, Entry, JournalPosition, RawApplication, shard_of
from ..programs.program import Program
from ..records import TopicPartition
from .assessment import Assessment, Rejected
from .fold import Fold
from .state import Shard, ShardKey

COIN = (1,)
"""The use of random numbers that says which steps explore, and what."""


class Chosen(Struct, frozen=True, gc=False):
    """A step's pick: the candidate, its cost and execution probability for this person, the probability with which it
    was picked, and the execution probability that the learner counts it with."""

    candidate: int
    cost: float
    execution: float
    propensity: float
    counted: float


class _Person(Struct, frozen=True, gc=False):
    """Somebody whose step is to be taken."""

    place: JournalPosition
    row: int


class _Run(NamedTuple):
    among: Rejected
    people: list[_Person]


class Steps:
    """Takes the steps of a segment: of journal entries under one model.

    Parameters
    ----------
    fold
        As it stands before the segment.
    segment
        The entries.
    assessments
        Of those who may be rejected.
    """

    def __init__(
        self, fold: Fold, segment: Sequence[Entry], assessments: Mapping[JournalPosition, Assessment | Problem]
    ) -> None:
        self._fold = fold
        self._ahead: dict[JournalPosition, Chosen | None] = {}
        self._runs: dict[JournalPosition, _Run] = {}
        self._plan(segment, assessments)

    def take(self, program: Program, shard: Shard, place: JournalPosition, found: Assessment) -> Chosen | None:
        """Take the shard's next step for the person at this place, of an application or decision; None when they have
        no feasible candidate."""
        run = self._runs.pop(place, None)
        if run is not None:
            self._ahead.update(zip([person.place for person in run.people], _chosen(program, shard, run), strict=True))
        if place in self._ahead:
            return self._ahead.pop(place)
        assert found.among is not None, "only who is rejected takes a step"
        (chosen,) = _chosen(program, shard, _Run(found.among, [_Person(place, found.row)]))
        return chosen

    def end(self) -> None:
        """The segment has been folded."""
        assert not self._ahead, f"{len(self._ahead)} steps were taken for people who were not answered"

    def _plan(self, segment: Sequence[Entry], assessments: Mapping[JournalPosition, Assessment | Problem]) -> None:
        state, cases, waiting = self._fold.state, self._fold.cases, self._fold.state.waiting.by_case
        under_way: dict[ShardKey, _Run] = {}
        named: set[CaseKey] = set()
        read: dict[TopicPartition, int] = {}
        for entry in segment:
            body = entry.body
            again = False
            if entry.source is not None:
                before = read.get(entry.source)
                if before is None:
                    before = state.positions.get(entry.source, -1)
                again = entry.source_offset <= before
                read[entry.source] = max(before, entry.source_offset)
            if isinstance(body, (Tick, DeadLetter)):
                continue
            if isinstance(body, Model):
                return
            key = entry.key
            if type(body) is not RawApplication or again or key in named or key in cases or key in waiting:
                # Whether this is answered, or what it teaches, is for the fold to say.
                under_way.clear()
            else:
                found = assessments.get(entry.place)
                if isinstance(found, Assessment) and found.among is not None:
                    self._add(under_way, key, _Person(entry.place, found.row), found.among)
            named.add(key)

    def _add(self, under_way: dict[ShardKey, _Run], key: CaseKey, person: _Person, among: Rejected) -> None:
        program = self._fold.program(key.program)
        shards = program.spec.shards
        shard = ShardKey(key.program, 0 if shards == 1 else shard_of(key.application, shards))
        run = under_way.get(shard)
        if run is not None and run.among is among:
            run.people.append(person)
        elif program.ignores_zero_reward:
            under_way[shard] = self._runs[person.place] = _Run(among, [person])


def step_generator(program: Program, shard: int, step: int, use: tuple[int, ...] = ()) -> np.random.Generator:
    """The random numbers of one step: the same for the same seed, program, shard, step and ``use`` (none: the
    choice's), whatever came before."""
    name = int.from_bytes(program.name.encode(), "big")
    seed = np.random.SeedSequence([program.spec.policy.seed, name, shard], spawn_key=use)
    return np.random.Generator(np.random.Philox(seed).jumped(step))


def _chosen(program: Program, shard: Shard, run: _Run) -> list[Chosen | None]:
    among = run.among
    rows = np.array([person.row for person in run.people])
    step = shard.step

    def random(after: int) -> np.random.Generator:
        return step_generator(program, shard.number, step + after)

    steps = Run(among.people[rows], among.first[rows], among.last[rows], among.feasible, among.execution)
    share = program.spec.policy.exploration
    if share:
        coins = (step_generator(program, shard.number, step + after, COIN) for after in range(len(rows)))
        picks = Exploration(shard.learner, share).choose_run(steps, random, coins)
    else:
        picks = shard.learner.choose_run(steps, random)
    if not len(among.feasible):
        return [None] * len(rows)
    candidates = among.feasible[picks.places].tolist()
    costs, executions = among.cost[picks.places].tolist(), among.execution[picks.places].tolist()
    columns = zip(picks.places, candidates, costs, executions, picks.propensity, picks.execution, strict=True)
    return [None if place < 0 else Chosen(*rest) for place, *rest in columns]
