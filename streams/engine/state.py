"""What the engine folds: everything a journal partition's ledger holds, but the cases at rest on disk."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...agents.candidates import RecourseInstances
from ...agents.choices import Choice
from ..journal.journal import CaseKey, JournalPosition
from ..programs.bundle import ModelBundle
from ..programs.program import Program
from ..records import TopicPartition
from .cases import Waiting
from .watermark import Decider, Watermarks


class ShardKey(NamedTuple):
    """What names a shard, and with it a learner."""

    program: str
    shard: int


@dataclass
class Shard:
    """One learner and its bandit clock."""

    program: Program
    number: int
    learner: Choice
    step: int = 0

    def __post_init__(self) -> None:
        self.key = ShardKey(self.program.name, self.number)


@dataclass(frozen=True)
class CurrentModel:
    """The model a program decides with now, and the candidates it accepts."""

    bundle: ModelBundle
    candidates: RecourseInstances


@dataclass
class WaitingRoom:
    """Events that came before what they refer to, by case, in the order of the journal."""

    limit: int
    by_case: dict[CaseKey, list[Waiting]] = field(default_factory=dict)
    expiry: dict[Decider, list[tuple[int, JournalPosition, CaseKey]]] = field(
        default_factory=lambda: {"model": [], "external": []}
    )
    size: int = 0

    @property
    def full(self) -> bool:
        """Whether nothing more may wait."""
        return self.size >= self.limit

    def add(self, event: Waiting, decider: Decider) -> None:
        """Let an event wait until the watermark of its program's decider gives it up."""
        self.by_case.setdefault(event.key, []).append(event)
        heapq.heappush(self.expiry[decider], (event.expires_ms, event.place, event.key))
        self.size += 1

    def holds(self, key: CaseKey, kind: str, event: str) -> bool:
        """Whether an event of this kind and id already waits for this case."""
        return any((waiting.kind, waiting.event) == (kind, event) for waiting in self.by_case.get(key, ()))

    def take(self, key: CaseKey) -> list[Waiting]:
        """Everything that waits for a case; it waits no longer."""
        events = self.by_case.pop(key, [])
        self.size -= len(events)
        return events

    def expired(self, decider: Decider, watermark_ms: int) -> Iterator[Waiting]:
        """Take what waits in vain: first those that expired first, then in the order of the journal."""
        expiry = self.expiry[decider]
        while expiry and expiry[0][0] < watermark_ms:
            _, place, key = heapq.heappop(expiry)
            events = self.by_case.get(key, [])
            for index, event in enumerate(events):
                if event.place == place:
                    del events[index]
                    self.size -= 1
                    if not events:
                        del self.by_case[key]
                    yield event
                    break


@dataclass
class PartitionState:
    """The state of one journal partition. ``offset`` is the next journal offset to read; ``positions`` the highest
    input offset seen of each input partition, by which a record appended twice is known."""

    partition: int
    programs: Mapping[str, Program]
    watermarks: Watermarks
    waiting: WaitingRoom
    offset: int = 0
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    shards: dict[tuple[str, int], Shard] = field(default_factory=dict)
    models: dict[str, CurrentModel] = field(default_factory=dict)

    def watermark_ms(self, program: Program) -> int | None:
        """The watermark of a program."""
        return self.watermarks.values_ms[program.spec.decisions]

    def is_past_retention(self, program: Program, forget_ms: int) -> bool:
        """Whether what is forgotten at this event time is: told by the watermark, so by the journal alone."""
        watermark_ms = self.watermark_ms(program)
        return watermark_ms is not None and forget_ms < watermark_ms

    def shard(self, program: Program, number: int) -> Shard:
        """A shard, with a new learner when it is the first time it is asked for."""
        shard = self.shards.get((program.name, number))
        if shard is None:
            shard = Shard(program, number, program.learner())
            self.shards[shard.key] = shard
        return shard

    def model(self, program: Program) -> CurrentModel:
        """The program's current model: its first one until a model event replaces it."""
        current = self.models.get(program.name)
        if current is None:
            current = self.models[program.name] = CurrentModel(program.bundle, program.candidates(program.bundle))
        return current
