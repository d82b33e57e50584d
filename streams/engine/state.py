"""The engine's state: everything that a journal partition's ledger holds, except the cases at rest on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from ...agents.candidates import CandidateGenerator, Vetting
from ...agents.objective import Objective
from ...agents.promises import NoPromise, Promise
from ..errors import LedgerError
from ..journal.entries import Entry
from ..programs.bundle.loader import ModelBundle
from ..programs.program import Program
from ..programs.reasons import RejectionReasons, reasons_under
from ..records import TopicPartition
from .program_state import ProgramState
from .shards import Shard, ShardKey
from .timing.waiting import WaitingEvents
from .timing.watermark import Watermarks

S = TypeVar("S", bound=ProgramState)


@dataclass(frozen=True)
class CurrentModel:
    """The model that a program decides with now, and what follows from it.

    That is ``vetting``, what it accepts of what may be told, and what is promised.
    """

    program: Program
    bundle: ModelBundle
    vetting: Vetting
    promise: Promise = field(default_factory=NoPromise)

    @classmethod
    def from_bundle(cls, program: Program, bundle: ModelBundle) -> CurrentModel:
        """A model of a program."""
        return cls(program, bundle, program.vetting_under(bundle), program.promise_under(bundle))

    @property
    def generator(self) -> CandidateGenerator:
        """The generator of options."""
        return self.vetting.generator

    @property
    def objective(self) -> Objective:
        """The objective by which options are compared."""
        return self.vetting.objective

    @cached_property
    def reasons(self) -> RejectionReasons | None:
        """The finder of the reasons of people whom the model rejects.

        None where another system decides, and where its bundle does not tell what people whom it approves are like.
        """
        program = self.program
        return reasons_under(self.bundle, program.codec) if program.spec.decisions == "model" else None

    @cached_property
    def signature(self) -> Mapping[str, Any]:
        """The fields of every recourse, and of every answer that there is none, which say what it follows from."""
        program, bundle = self.program, self.bundle
        return {
            "policy": program.spec.policy.choice,
            "policy_version": program.policy_version,
            "spec": program.sha256,
            "model": bundle.version,
            "model_sha256": bundle.manifest_sha256,
        }


@dataclass
class PartitionState:
    """The state of one journal partition.

    ``given`` are the worker's programs, as their files say. ``programs`` are those that the journal has begun, each
    with the spec that is in force. ``states`` are by kind, then by program and shard. ``offset`` is the next journal
    offset to read. ``positions`` holds the highest input offset seen of each input partition, by which a record that
    was appended twice is recognised. Where nobody is there to answer, ``asks`` is false: people are told at once.
    """

    partition: int
    given: Mapping[str, Program]
    watermarks: Watermarks
    waiting: WaitingEvents
    programs: dict[str, Program] = field(default_factory=dict)
    offset: int = 0
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    shards: dict[tuple[str, int], Shard] = field(default_factory=dict)
    models: dict[str, CurrentModel] = field(default_factory=dict)
    states: dict[type[ProgramState], dict[ShardKey, Any]] = field(default_factory=dict)
    asks: bool = True

    def program(self, name: str) -> Program:
        """A program of this worker. Raise ``LedgerError``: a missing spec must not make it skip events.

        A journal of an earlier version does not say with which spec a program begins: that of the file counts then.
        """
        program = self.programs.get(name)
        if program is None:
            given = self.given_program(name)
            program = self.begin(given.begun_with(given.spec))
        return program

    def given_program(self, name: str) -> Program:
        """A program as its file says; raise ``LedgerError`` without one."""
        program = self.given.get(name)
        if program is None:
            raise LedgerError(f"the journal holds records of program {name!r}: start the worker with its spec too")
        return program

    def begin(self, program: Program) -> Program:
        """Begin a program with its first spec."""
        self.programs[program.name] = program
        return program

    def change(self, program: Program) -> None:
        """Put a program under another spec: its model, its learners and its states go on."""
        model = self.model(self.program(program.name))
        self.programs[program.name] = program
        self.models[program.name] = CurrentModel.from_bundle(program, model.bundle)
        for shard in self.shards_of(program):
            shard.change(program)
        for state in self.states_of(program.name):
            state.change(program)

    def watermark_ms(self, program: Program) -> int | None:
        """The watermark of a program."""
        return self.watermarks.values_ms[program.watermark]

    def has_forgotten(self, program: Program, forget_ms: int) -> bool:
        """Whether the watermark has passed ``forget_ms``."""
        watermark_ms = self.watermarks.values_ms[program.watermark]
        return watermark_ms is not None and forget_ms < watermark_ms

    def shard(self, program: Program, number: int) -> Shard:
        """A shard, with a new learner when it is used for the first time."""
        shard = self.shards.get((program.name, number))
        if shard is None:
            shard = Shard(program, number, program.learner())
            self.shards[shard.key] = shard
            for state in self.states_of(program.name):
                state.shard_begins(shard)
        return shard

    def shards_of(self, program: Program) -> list[Shard]:
        """The shards of a program that this partition has used."""
        return [shard for shard in self.shards.values() if shard.program.name == program.name]

    def step_of(self, program: str, number: int) -> int:
        """The next step of a shard, 0 before its first answer."""
        shard = self.shards.get(ShardKey(program, number))
        return 0 if shard is None else shard.step

    def model(self, program: Program) -> CurrentModel:
        """The program's current model: its first one until a model event replaces it."""
        current = self.models.get(program.name)
        if current is None:
            current = self.models[program.name] = CurrentModel.from_bundle(program, program.bundle)
        return current

    def get(self, kind: type[S], program: str, shard: int = 0) -> S | None:
        """The state of a kind, None where nothing has changed it yet. What a program has once has the shard 0."""
        states = self.states.get(kind)
        return None if states is None else cast("S | None", states.get(ShardKey(program, shard)))

    def all_of(self, kind: type[S]) -> Iterable[S]:
        """All states of a kind, in the order in which they began."""
        return self.states[kind].values() if kind in self.states else ()

    def states_of(self, program: str) -> list[ProgramState]:
        """All states of a program, of each kind."""
        return [state for states in self.states.values() for key, state in states.items() if key.program == program]

    @property
    def is_unfinished(self) -> bool:
        """Whether there is work that later entries carry on."""
        return any(state.is_unfinished for states in self.states.values() for state in states.values())

    def are_new(self, entries: Iterable[Entry]) -> list[bool]:
        """For each of the entries that follow: whether its input record has not been folded before."""
        seen: dict[TopicPartition, int] = {}
        are_new = []
        for entry in entries:
            source = entry.source
            if source is None:
                are_new.append(True)
                continue
            last = seen.get(source)
            if last is None:
                last = self.positions.get(source, -1)
            is_new = entry.source_offset > last
            are_new.append(is_new)
            seen[source] = entry.source_offset if is_new else last
        return are_new
