"""The world of a shift: one feature of generated people helps as the data say, and later no longer.

The model goes on to accept who changes it. Only outcomes tell that it helps nobody any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ....agents.choices import Residual
from ....environments.rounds import Scoreboard
from ....environments.truth import TruthWorld
from ...ledger.learners import learners
from ...programs.program import assemble
from ...programs.spec_check import load_program_spec
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

    def read_omega(self, state_dir: Path, specs: Mapping[str, Path]) -> None:
        """Read what the programs of spec files, in the order of the policies, have learned of each feature."""
        for policy, path in zip(self.scoreboards, specs.values(), strict=True):
            program = assemble(load_program_spec(path))
            names = [feature.name for feature in program.spec.features]
            for learner in learners(state_dir, program):
                if isinstance(learner, Residual):
                    self.omega[policy] = dict(zip(names, learner.omega.tolist(), strict=True))
