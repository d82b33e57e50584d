"""Shards: the parts of a program, each with a learner of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...agents.choices import Choice
from ...schemas.events import ExecutionSource
from ..programs.program import Program


class ShardKey(NamedTuple):
    """The key of a shard, and so of its learner."""

    program: str
    shard: int


@dataclass
class Shard:
    """One learner, and the number of the step it takes next.

    ``untold`` are the outcomes and picks that it has not told other shards of.
    """

    program: Program
    number: int
    learner: Choice
    step: int = 0
    untold: int = 0

    def __post_init__(self) -> None:
        self.key = ShardKey(self.program.name, self.number)

    @property
    def execution_source(self) -> ExecutionSource:
        """Where the execution probabilities come from that it tells now."""
        return "learned" if self.learner.has_learned_execution else self.program.first_execution_source

    def change(self, program: Program) -> None:
        """Go on under another spec, with what was learned."""
        learned, self.program, self.learner = self.learner.state(), program, program.learner()
        self.learner.adopt(learned)
