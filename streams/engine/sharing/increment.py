"""Increments: the shards of a program tell each other what they have learned.

After every few outcomes and picks (``cadence``) a shard tells the sums of what they taught. Shards in its journal
partition learn it at once. For the others it is published, and ingest appends it to the journal partitions of all
shards, where it is learned at its place. So what a shard knows follows from its journal alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ....agents.choices.contract import State
from ....agents.costs import Preferences
from ....schemas.events import Increment
from ...journal.entries import Entry
from ...programs.program import Program
from ..contract import Handler
from ..fold import Fold
from ..picks.population import PickedPopulation
from ..shards import Shard
from .evidence import SharedEvidence, learn, packed, unpacked

MOST_UNTOLD = 48
"""Outcomes and picks that all shards together have not told, about: more shards tell sooner, and lose as little."""
LEAST, MOST = 2, 10
"""Outcomes and picks that a shard learns between two increments. With others, a journal would give other outputs."""


class IncrementHandler(Handler):
    """Lets the shards of this partition learn an increment, unless they have: copies have the number of another.

    Of one that counts its arms by another spec only what is not of single arms is learned. One that its program cannot
    use is a dead letter.
    """

    kind: ClassVar[str] = "increment"

    def apply(self, entry: Entry, event: Increment, fold: Fold) -> None:
        """Learn it, and count what became of it."""
        program = fold.state.program(event.program)
        try:
            _apply_increment(event, program, fold)
        except ValueError as error:
            fold.dead_letter(entry, "increment_does_not_fit", str(error))


def cadence(shards: int) -> int:
    """The outcomes and picks that one of so many shards learns between two increments."""
    return max(LEAST, min(MOST, MOST_UNTOLD // shards))


def publish_increment(shard: Shard, time_ms: int, fold: Fold) -> None:
    """Let the other shards learn what this one has learned since its last increment, where it has learned enough."""
    program = shard.program
    if not program.shares or shard.untold < cadence(program.spec.shards):
        return
    shared = fold.change(SharedEvidence, program)
    evidence, outcomes, shard.untold = shared.take(shard.learner, _preferences(shard, fold)), shard.untold, 0
    number = shared.numbers[shard.number] = shared.numbers.get(shard.number, 0) + 1
    here = fold.state.shards_of(program)
    _learn(evidence, [other for other in here if other is not shard], fold)
    if len(here) < program.spec.shards:
        fold.count("increments", program.name, "told")
        event = Increment(program.name, shard.number, number, outcomes, program.arms_sha256, packed(evidence))
        fold.emit(event, f"increment/{program.name}/{shard.number}/{number}", time_ms, program.name, shard.number)


def _apply_increment(event: Increment, program: Program, fold: Fold) -> None:
    if not program.shares or event.shard >= program.spec.shards:
        raise ValueError(f"shard {event.shard} of program {program.name!r} has nothing to tell")
    here = fold.state.shards_of(program)
    if any(shard.number == event.shard for shard in here):
        return  # Shards here learned it when it was told.
    shared = fold.change(SharedEvidence, program)
    last = shared.numbers.get(event.shard, 0)
    if event.number <= last:
        fold.count("increments", program.name, "repeated")
        return
    left_out = shared.learner.per_arm if event.arms != program.arms_sha256 else frozenset()
    usable = {name: sums for name, sums in event.evidence.items() if name not in left_out}
    evidence = unpacked(usable, shared)
    learn(evidence, shared.learner, shared.preferences)
    shared.numbers[event.shard] = event.number
    _learn(evidence, here, fold)
    is_whole = len(usable) == len(event.evidence)
    fold.count("increments", program.name, "learned" if is_whole else "learned in part")
    if event.number > last + 1:
        fold.count("increments", program.name, "missing", times=event.number - last - 1)


def _learn(evidence: State, shards: Iterable[Shard], fold: Fold) -> None:
    for shard in shards:
        learn(evidence, shard.learner, _preferences(shard, fold))
        fold.effects.shards.add(shard.key)


def _preferences(shard: Shard, fold: Fold) -> Preferences | None:
    """The preferences of a shard's people, to change them; None where none of them has picked anything."""
    if fold.state.get(PickedPopulation, *shard.key) is None:
        return None
    return fold.change(PickedPopulation, shard.program, shard.number).preferences
