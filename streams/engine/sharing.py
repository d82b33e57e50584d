"""Sharing: the shards of a program tell each other what they have learned.

What outcomes teach adds up, exactly and in any order, where a choice has ``additive`` arrays. After every ``CADENCE``
outcomes a shard tells the sums of what they taught, an *increment*. Shards in its journal partition learn it at once.
For the others it is published, and ingest appends it to the journal partitions of all shards, where it is learned at
its place. So what a shard knows follows from its journal alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ...agents.choices import Choice
from ...agents.choices.contract import EVIDENCE_UNIT, Array, State
from ...schemas.events import Increment, Sums
from ..programs.program import Program

if TYPE_CHECKING:
    from .fold import Fold
    from .state import Shard

CADENCE = 10
"""Outcomes that a shard learns between two increments. With another one, a journal would give other outputs."""


class SharedRecord(Struct, gc=False):
    """What a ledger holds of it: the number of the last increment of each shard, and the sums of all of them."""

    told: dict[int, int]
    evidence: bytes


class SharedEvidence:
    """What the shards of a program have told, as far as one journal partition has heard it.

    ``learner`` has learned that and nothing else: at first nothing. Each shard of the partition has learned it too, and
    beyond it what it has not told yet. ``told`` are the numbers of the last increments by shard.
    """

    def __init__(self, learner: Choice) -> None:
        self.learner = learner
        self.told: dict[int, int] = {}

    def change(self, learner: Choice) -> None:
        """Go on with a new learner, of another spec."""
        learner.adopt(self.learner.state())
        self.learner = learner

    def take(self, learner: Choice) -> State:
        """Take over what a shard's learner has learned beyond it, and return that."""
        known = self.learner.state()
        new = {name: array - known[name] for name, array in learner.state().items() if name in learner.additive}
        self.learner.add(new)
        return new

    def teach(self, learner: Choice) -> None:
        """Let the learner of a new shard learn all of it."""
        learner.add({name: sums for name, sums in self.learner.state().items() if name in learner.additive})


def tell(shard: Shard, time_ms: int, fold: Fold) -> None:
    """Tell the other shards what this one has learned, if it is time."""
    program = shard.program
    if not program.shares or shard.untold < CADENCE:
        return
    shared = fold.shared(program)
    evidence, outcomes, shard.untold = shared.take(shard.learner), shard.untold, 0
    number = shared.told[shard.number] = shared.told.get(shard.number, 0) + 1
    here = fold.state.shards_of(program)
    _learn(evidence, [other for other in here if other is not shard], fold)
    if len(here) < program.spec.shards:
        fold.count("increments", program.name, "told")
        event = Increment(program.name, shard.number, number, outcomes, program.arms_sha256, _packed(evidence))
        fold.emit(event, f"increment/{program.name}/{shard.number}/{number}", time_ms, program.name, shard.number)


def hear(event: Increment, program: Program, fold: Fold) -> None:
    """Let the shards of this partition learn what another has told, unless they have.

    Of an increment that counts its arms by another spec only what is not of single arms is learned. Raise
    ``ValueError`` when it is not one of the program; nothing is changed then.
    """
    if not program.shares or event.shard >= program.spec.shards:
        raise ValueError(f"shard {event.shard} of program {program.name!r} has nothing to tell")
    here = fold.state.shards_of(program)
    last = fold.state.shared_of(program).told.get(event.shard, 0)
    if any(shard.number == event.shard for shard in here):
        return  # Shards here learned it when it was told.
    if event.number <= last:
        fold.count("increments", program.name, "repeated")
        return
    shared = fold.shared(program)
    evidence, in_part = _unpacked(event, program, shared.learner)
    shared.learner.add(evidence)
    shared.told[event.shard] = event.number
    _learn(evidence, here, fold)
    fold.count("increments", program.name, "learned in part" if in_part else "learned")
    if event.number > last + 1:
        fold.count("increments", program.name, "missing", event.number - last - 1)


def _learn(evidence: State, shards: list[Shard], fold: Fold) -> None:
    for shard in shards:
        shard.learner.add(evidence)
        fold.effects.shards.add(shard.key)


def _packed(evidence: State) -> Mapping[str, Sums]:
    return {name: _sums(array) for name, array in sorted(evidence.items()) if array.any()}


def _sums(array: Array) -> Sums:
    at = np.flatnonzero(array)
    return Sums(tuple(at.tolist()), tuple(np.rint(array.ravel()[at] / EVIDENCE_UNIT).astype(np.int64).tolist()))


def _unpacked(event: Increment, program: Program, learner: Choice) -> tuple[State, bool]:
    """The sums of an increment, and whether those of single arms are left out."""
    known, evidence = learner.state(), {}
    skipped = learner.per_arm if event.arms != program.arms_sha256 else frozenset()
    for name, sums in event.evidence.items():
        if name not in learner.additive:
            raise ValueError(f"{learner.name} shares no sums called {name!r}")
        if name not in skipped:
            evidence[name] = _array(name, sums, known[name].shape)
    return evidence, bool(skipped & event.evidence.keys())


def _array(name: str, sums: Sums, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    if len(sums.at) != len(sums.units) or max(sums.at, default=0) >= size:
        raise ValueError(
            f"{name} holds {size} sums: {len(sums.units)} at places up to {max(sums.at, default=0)} do not fit"
        )
    flat = np.zeros(size)
    flat[list(sums.at)] = np.array(sums.units) * EVIDENCE_UNIT
    return flat.reshape(shape)
