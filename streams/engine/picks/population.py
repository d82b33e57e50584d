"""The population of a shard: what is believed of its people's preferences, and whom their options then serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import field
from numpy.typing import NDArray

from ....agents.costs import Preferences, ServedShares
from ....agents.options import OptionBatch
from ...programs.program import Program
from ..fold import Fold
from ..program_state import ProgramState, StoredProgram
from ..sharing.evidence import SharedEvidence
from ..state import PartitionState


class PickedPopulation(ProgramState):
    """The picks of a shard's people: ``counts`` are the arrays of the ``preferences`` that were learned from them.

    They hold what other shards have told, too. ``preferences`` is None in a program whose costs are known: there a pick
    teaches nothing.
    """

    table: ClassVar[str] = "populations"

    counts: dict[str, NDArray[Any]] = field(default_factory=dict)

    def begin(self, program: Program) -> None:
        """Nobody has picked anything yet."""
        super().begin(program)
        self.preferences = program.preferences()

    def restore(self, stored: StoredProgram) -> None:
        """Continue where the counts stood."""
        if self.preferences is not None:
            self.preferences.restore(self.counts)

    def collect(self) -> None:
        """Take the counts."""
        if self.preferences is not None:
            self.counts = self.preferences.state()


def preferences_to_teach(program: Program, shard: int, fold: Fold) -> Preferences | None:
    """The preferences of a shard's people, for a pick to change them. The first one begins with what others have told.

    None where a pick teaches nothing.
    """
    evidence = (
        None if fold.state.get(PickedPopulation, program.name, shard) else fold.state.get(SharedEvidence, program.name)
    )
    preferences = fold.change(PickedPopulation, program, shard).preferences
    if evidence is not None and evidence.preferences is not None and preferences is not None:
        preferences.add(evidence.preferences.state())
    return preferences


def learned_preferences(state: PartitionState, program: str, shard: int) -> Preferences | None:
    """The preferences that picks, of other shards too, have taught of a shard's people; None where they taught none."""
    known = state.get(PickedPopulation, program, shard) or state.get(SharedEvidence, program)
    preferences = None if known is None else known.preferences
    return preferences if preferences is not None and preferences.picks > 0.0 else None


def under_learned_preferences(batch: OptionBatch, program: Program, shard: int, state: PartitionState) -> OptionBatch:
    """The options as they are for the population of a shard; the same where nobody has picked any yet.

    In a program with rounds the execution probabilities stay those of the difficulties.
    """
    if batch.samples is None:
        return batch
    preferences = learned_preferences(state, program.name, shard)
    if preferences is None:
        return batch
    learned = batch.with_preferences(preferences)
    assert learned.samples is not None, "sampled options stay sampled"
    return learned._replace(samples=learned.samples._replace(is_learned=not program.closes_rounds))


def with_learned_costs(batch: OptionBatch, indices: Sequence[int]) -> OptionBatch:
    """The same, with the costs and execution probabilities of the options at these indices as they are believed now."""
    samples = batch.samples
    if samples is None or not samples.is_learned:
        return batch
    learned, cost, execution = (
        samples.subset(np.array(indices, dtype=np.intp)),
        batch.cost.copy(),
        batch.execution.copy(),
    )
    cost[indices], execution[indices] = samples.cost.mean(learned.costs), learned.execution.mean(axis=1)
    return batch._replace(cost=cost, execution=execution)


def satisfaction_of(batch: OptionBatch, indices: Sequence[int], program: Program) -> ServedShares | None:
    """The people whom the options at these indices of a batch satisfy, as a set; None where costs are known."""
    return None if batch.samples is None else batch.samples.subset(np.array(indices)).served(program.satisfied)
