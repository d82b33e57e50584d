"""The evidence that the shards of a program have shared, and the sums that they publish.

What outcomes teach adds up, exactly and in any order, where a choice has ``additive`` arrays; so does what picks teach
of a population.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from msgspec import field
from numpy.typing import NDArray

from ....agents.choices import Choice
from ....agents.choices.contract import EVIDENCE_UNIT, Array, State
from ....agents.costs import Preferences
from ....schemas.events import Sums
from ...programs.program import Program
from ..program_state import ProgramState, StoredProgram
from ..shards import Shard

OF_PICKS: Final = frozenset({"editable", "seen"})
"""The sums that picks teach; all others are a learner's."""


class SharedEvidence(ProgramState):
    """The evidence that the shards of a program have shared, as far as one journal partition has heard it.

    ``numbers`` are those of the last increments by shard, and ``evidence`` the sums of all of them, as the arrays
    of a ``learner`` and of ``preferences`` that have learned that and nothing else: at first nothing. Each shard of the
    partition has learned it too, and beyond it what it has not told yet.
    """

    table: ClassVar[str] = "shared_evidence"

    numbers: dict[int, int] = field(default_factory=dict)
    evidence: dict[str, NDArray[Any]] = field(default_factory=dict)

    def begin(self, program: Program) -> None:
        """Nothing has been told."""
        self.learner, self.preferences = program.learner(), program.preferences()

    def restore(self, stored: StoredProgram) -> None:
        """Continue where the learner and the preferences stood."""
        of_outcomes, of_picks = _by_source(self.evidence)
        self.learner.restore(of_outcomes)
        if self.preferences is not None:
            self.preferences.add(of_picks)

    def collect(self) -> None:
        """Take the arrays; of picks only where something is known."""
        of_picks = {} if self.preferences is None else self.preferences.state()
        self.evidence = {**self.learner.state(), **{name: array for name, array in of_picks.items() if array.any()}}

    def change(self, program: Program) -> None:
        """Go on with a new learner, of another spec."""
        learner = program.learner()
        learner.adopt(self.learner.state())
        self.learner = learner

    def shard_begins(self, shard: Shard) -> None:
        """Let the learner of a new shard learn all of it."""
        shard.learner.add(_sums(self.learner, None))

    def sums(self) -> State:
        """All that was told."""
        return _sums(self.learner, self.preferences)

    def take(self, learner: Choice, preferences: Preferences | None) -> State:
        """Take over what a shard has learned beyond it, and return that."""
        known = self.sums()
        new = {name: array - known[name] for name, array in _sums(learner, preferences).items()}
        learn(new, self.learner, self.preferences)
        return new


def learn(evidence: State, learner: Choice, preferences: Preferences | None) -> None:
    """Let a learner learn sums, and preferences those of picks; raise ``ValueError`` where the learner cannot."""
    of_outcomes, of_picks = _by_source(evidence)
    learner.add(of_outcomes)
    if preferences is not None and of_picks:
        preferences.add(of_picks)


def _sums(learner: Choice, preferences: Preferences | None) -> State:
    parts: list[Choice | Preferences] = [learner] if preferences is None else [learner, preferences]
    return {name: array for part in parts for name, array in part.state().items() if name in part.additive}


def _by_source(evidence: State) -> tuple[State, State]:
    """The sums of a learner, and those of picks."""
    of_picks = {name: evidence[name] for name in OF_PICKS & evidence.keys()}
    return {name: array for name, array in evidence.items() if name not in of_picks}, of_picks


def packed(evidence: State) -> Mapping[str, Sums]:
    """Sums as an increment holds them, without those that are 0."""
    at = {name: np.flatnonzero(array) for name, array in sorted(evidence.items()) if array.any()}
    units = {name: np.rint(evidence[name].ravel()[places] / EVIDENCE_UNIT) for name, places in at.items()}
    return {
        name: Sums(tuple(places.tolist()), tuple(units[name].astype(np.int64).tolist())) for name, places in at.items()
    }


def unpacked(evidence: Mapping[str, Sums], shared: SharedEvidence) -> State:
    """Read them back; raise ``ValueError`` for sums that its program does not have."""
    known = shared.sums()
    if strange := sorted(evidence.keys() - known.keys()):
        raise ValueError(f"{shared.learner.name} shares no sums called {', '.join(strange)}")
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
