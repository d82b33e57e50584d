"""The evidence that the shards of a program have shared, and the sums that they publish.

What outcomes teach adds up, exactly and in any order, where a choice has ``additive`` arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from msgspec import field
from numpy.typing import NDArray

from ....agents.choices import Choice
from ....agents.choices.contract import EVIDENCE_UNIT, Array, State
from ....schemas.events import Sums
from ...programs.program import Program
from ..program_state import ProgramState, StoredProgram
from ..shards import Shard


class SharedEvidence(ProgramState):
    """The evidence that the shards of a program have shared, as far as one journal partition has heard it.

    ``numbers`` are those of the last increments by shard, and ``evidence`` the sums of all of them, as the arrays
    of a ``learner`` that has learned that and nothing else: at first nothing. Each shard of the partition has learned
    it too, and beyond it what it has not told yet.
    """

    table: ClassVar[str] = "shared_evidence"

    numbers: dict[int, int] = field(default_factory=dict)
    evidence: dict[str, NDArray[Any]] = field(default_factory=dict)

    def begin(self, program: Program) -> None:
        """Nothing has been told."""
        self.learner = program.learner()

    def restore(self, stored: StoredProgram) -> None:  # noqa: ARG002
        """Continue where the learner stood."""
        self.learner.restore(self.evidence)

    def collect(self) -> None:
        """Take the learner's arrays."""
        self.evidence = self.learner.state()

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
    at = {name: np.flatnonzero(array) for name, array in sorted(evidence.items()) if array.any()}
    units = {name: np.rint(evidence[name].ravel()[places] / EVIDENCE_UNIT) for name, places in at.items()}
    return {
        name: Sums(tuple(places.tolist()), tuple(units[name].astype(np.int64).tolist())) for name, places in at.items()
    }


def unpacked(evidence: Mapping[str, Sums], learner: Choice) -> State:
    """Read them back; raise ``ValueError`` for sums that such a learner does not have."""
    known = learner.state()
    if strange := sorted(evidence.keys() - learner.additive):
        raise ValueError(f"{learner.name} shares no sums called {', '.join(strange)}")
    return {name: _array(name, sums, known[name].shape) for name, sums in evidence.items()}


def _array(name: str, sums: Sums, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    if len(sums.at) != len(sums.units) or max(sums.at, default=0) >= size:
        raise ValueError(
            f"{name} holds {size} sums: {len(sums.units)} at places up to {max(sums.at, default=0)} do not fit"
        )
    flat = np.zeros(size)
    flat[list(sums.at)] = np.array(sums.units) * EVIDENCE_UNIT
    return flat.reshape(shape)
