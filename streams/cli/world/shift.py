"""The world of a shift: one feature of generated people helps as the data say, and later no longer.

The model goes on to accept who changes it. Only outcomes tell that it helps nobody any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ....environments.rounds import Scoreboard
from ....environments.truth import TruthWorld
from ...engine.rewards.summary import joined
from ...ledger.summary import summaries
from ...simulation.shift_stats import ShiftSummary, phases
from .worlds import FEATURE

NAME = "shift"
PEOPLE = 900
POLICIES = ("protoar", "residual")
CURVE_ROUNDS = 1


@dataclass
class Shift:
    """The shift of a world, and what comes of it by policy. ``omega`` is there when the run has ended."""

    world: TruthWorld
    scoreboards: Mapping[str, Scoreboard]
    omega: dict[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def summary(self) -> ShiftSummary:
        """Improvement so far, and what was learned."""
        world = self.world
        improvement = {
            policy: phases(board.curve, world.shift, world.rejected) for policy, board in self.scoreboards.items()
        }
        return ShiftSummary(FEATURE, world.shift, improvement, self.omega)

    def read_omega(self, state_dir: Path, programs: Iterable[str]) -> None:
        """Read what programs, in the order of the policies, have learned of each feature."""
        of_ledgers = [program for ledger in summaries(state_dir) for program in ledger.programs]
        for policy, name in zip(self.scoreboards, programs, strict=True):
            parts = [own.rewards for own in of_ledgers if own.program == name and own.rewards is not None]
            if parts:
                self.omega[policy] = {feature.feature: feature.omega for feature in joined(parts).features}
