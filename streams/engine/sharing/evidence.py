"""What the shards of a program have told each other, and the sums that they tell.

What outcomes teach adds up, exactly and in any order, where a choice has ``additive`` arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....agents.choices import Choice
from ....agents.choices.contract import EVIDENCE_UNIT, Array, State
from ....schemas.events import Sums
from ...programs.program import Program
from ..program_state import ProgramState, StoredProgram
from ..state import Shard


class SharedRecord(Struct, gc=False):
    """What a ledger holds of it: the number of the last increment of each shard, and the sums of all of them."""

    told: dict[int, int]
    evidence: dict[str, NDArray[Any]]


class SharedEvidence(ProgramState):
    """What the shards of a program have told, as far as one journal partition has heard it.

    ``learner`` has learned that and nothing else: at first nothing. Each shard of the partition has learned it too, and
    beyond it what it has not told yet. ``told`` are the numbers of the last increments by shard.
    """

    table: ClassVar[str] = "shared_evidence"
    record_type: ClassVar[Any] = SharedRecord

    def __init__(self, learner: Choice) -> None:
        self.learner = learner
        self.told: dict[int, int] = {}

    @classmethod
    def new(cls, program: Program) -> Self:
        """Nothing has been told."""
        return cls(program.learner())

    def record(self) -> SharedRecord:
        """What the ledger keeps."""
        return SharedRecord(self.told, self.learner.state())

    @classmethod
    def restored(cls, record: SharedRecord, stored: StoredProgram) -> Self:
        """Continue where a record stands."""
        shared = cls.new(stored.program)
        shared.learner.restore(record.evidence)
        shared.told = record.told
        return shared

    def change(self, program: Program) -> None:
        """Go on with a new learner, of another spec."""
        learner = program.learner()
        learner.adopt(self.learner.state())
        self.learner = learner

    def shard_begins(self, shard: Shard) -> None:
        """Let the learner of a new shard learn all of it."""
        evidence = {name: sums for name, sums in self.learner.state().items() if name in shard.learner.additive}
        shard.learner.add(evidence)

    def take(self, learner: Choice) -> State:
        """Take over what a shard's learner has learned beyond it, and return that."""
        known = self.learner.state()
        new = {name: array - known[name] for name, array in learner.state().items() if name in learner.additive}
        self.learner.add(new)
        return new


def packed(evidence: State) -> Mapping[str, Sums]:
    """Sums as an increment holds them, without those that are 0."""
    return {name: _sums(array) for name, array in sorted(evidence.items()) if array.any()}


def _sums(array: Array) -> Sums:
    at = np.flatnonzero(array)
    return Sums(tuple(at.tolist()), tuple(np.rint(array.ravel()[at] / EVIDENCE_UNIT).astype(np.int64).tolist()))


def unpacked(told: Mapping[str, Sums], learner: Choice) -> State:
    """Read them back; raise ``ValueError`` for sums that such a learner does not have."""
    known = learner.state()
    if strange := sorted(told.keys() - learner.additive):
        raise ValueError(f"{learner.name} shares no sums called {', '.join(strange)}")
    return {name: _array(name, sums, known[name].shape) for name, sums in told.items()}


def _array(name: str, sums: Sums, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    if len(sums.at) != len(sums.units) or max(sums.at, default=0) >= size:
        raise ValueError(
            f"{name} holds {size} sums: {len(sums.units)} at places up to {max(sums.at, default=0)} do not fit"
        )
    flat = np.zeros(size)
    flat[list(sums.at)] = np.array(sums.units) * EVIDENCE_UNIT
    return flat.reshape(shape)
