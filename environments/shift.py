"""The world of a shift: one feature of generated people helps as the data say, and later no longer.

The model goes on to accept who changes it. Only outcomes tell that it helps nobody any more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec import Struct

from ..schemas.spec import ProgramSpec
from ..schemas.table import Table
from ..streams.cli.display.words import mean
from ..streams.engine.rewards.summary import joined
from ..streams.ledger.summary import summaries
from .figures.recording import Recording, Summary
from .figures.sections import Section, ShownWorld
from .people import PeopleWorld
from .play.simulation import Simulation
from .rounds import Scoreboard, ScorePoint
from .truth import Conditions, TruthWorld

FEATURE = "card_utilisation"
"""The feature that stops helping."""
MOST_CHANGES = 1
"""Where all options change the same two features, no outcome says which of them has stopped to help."""
SHARE = 1 / 6
"""The share of the people after the shift of whom "just after" and "at the end" are the means."""
LEAST_OMEGA = 0.2
"""A feature that helps less than expected by no more than this is not named: that is what a learner expects."""


class ShiftWorld(PeopleWorld):
    """Generated people, for whom ``FEATURE`` stops helping once a third of them is answered.

    What is learned lasts, so most outcomes must come after the shift.
    """

    name: ClassVar[str] = "shift"
    in_words: ClassVar[str] = "generated applicants, for whom a feature stops helping"
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar", "residual")
    default_people: ClassVar[int | None] = 900
    takes_data: ClassVar[bool] = False
    curve_every: ClassVar[int] = 1
    conditions: ClassVar[Conditions] = Conditions(shift_at=1 / 3)

    def _under_conditions(self, spec: ProgramSpec) -> ProgramSpec:
        constraints = msgspec.structs.replace(spec.constraints, max_changes=MOST_CHANGES)
        policy = msgspec.structs.replace(spec.policy, options=1)
        return msgspec.structs.replace(spec, constraints=constraints, policy=policy)

    def _truth_world(self, table: Table) -> TruthWorld:
        world = super()._truth_world(table)
        world.make_inert(FEATURE, from_the_shift=True)
        return world

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """In lock-step with the answers."""
        self._boards, self._omega = scoreboards, dict[str, Mapping[str, float]]()
        return super().play(specs, scoreboards, prefix)

    def end(self, state_dir: Path) -> None:
        """Read what the programs have learned of each feature."""
        of_ledgers = [program for ledger in summaries(state_dir) for program in ledger.programs]
        for name in self._boards:
            parts = [
                summary.rewards for summary in of_ledgers if summary.program == name and summary.rewards is not None
            ]
            if parts:
                self._omega[self.policy_of(name)] = {
                    feature.feature: feature.omega for feature in joined(parts).features
                }

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """Improvement before and after the shift, and in the end what the ledgers say was learned."""
        assert isinstance(self.world, TruthWorld), "generated people have a known truth"
        at, rejected = self.world.shift, self.world.rejected
        improvement = {self.policy_of(name): phases(board.curve, at, rejected) for name, board in self._boards.items()}
        shift = ShiftSummary(FEATURE, at, improvement, self._omega)
        rows = [(policy, *map(mean, msgspec.structs.astuple(intervals))) for policy, intervals in improvement.items()]
        head, lines = ("improvement", "before", "just after", "at the end"), list(lines_of(shift))
        return ShownWorld(
            super().show(recording, summary).served,
            "improvement before / just after / at the end: "
            + ", ".join(f"{policy} {intervals}" for policy, intervals in improvement.items()),
            [Section("A feature that stops helping", [head, *rows], lines, data={"shift": shift})],
        )


class Phases(Struct, frozen=True):
    """Mean improvement by suggestions in three phases of a run; None of a phase that has not come yet."""

    before: float | None
    just_after: float | None
    end: float | None

    def __str__(self) -> str:
        return " / ".join(map(mean, msgspec.structs.astuple(self)))


class ShiftSummary(Struct, frozen=True):
    """``feature`` stops helping when a program has answered ``at`` rejected people.

    ``improvement`` is by policy. ``omega`` is what its learner has learned by the end, by policy and feature: how much
    less a feature's changes help than expected, 0 as expected and 1 not at all; only of policies that learn it.
    """

    feature: str
    at: int
    improvement: Mapping[str, Phases]
    omega: Mapping[str, Mapping[str, float]]

    @property
    def least_helpful(self) -> Mapping[str, str | None]:
        """By policy the feature that helps least of what was expected; None where all help about as expected."""
        best = {policy: max(omega, key=lambda name: omega[name]) for policy, omega in self.omega.items() if omega}
        return {policy: name if self.omega[policy][name] > LEAST_OMEGA else None for policy, name in best.items()}


def lines_of(shift: ShiftSummary) -> Iterator[str]:
    """The feature that stops helping and when, and the one that each learner takes for it by the end."""
    yield f"{shift.feature} stops helping once {shift.at:,} rejected people are answered"
    for policy, feature in shift.least_helpful.items():
        learned = "no feature" if feature is None else f"{feature}, by {shift.omega[policy][feature]:.0%}"
        yield f"{policy} found to help less than expected: {learned}"


def phases(curve: Sequence[ScorePoint], shift: int, rejected: int) -> Phases:
    """The phases of a curve with a point after each answer, of ``rejected`` people in all."""
    length = max(1, int((rejected - shift) * SHARE))
    return Phases(
        _mean(curve, 0, shift), _mean(curve, shift, shift + length), _mean(curve, rejected - length, rejected)
    )


def _mean(curve: Sequence[ScorePoint], first: int, last: int) -> float | None:
    """The mean improvement by the answers from ``first`` to ``last``, as far as they are there."""
    count, total = (end - start for start, end in zip(_sums(curve, first), _sums(curve, last), strict=True))
    return total / count if count else None


def _sums(curve: Sequence[ScorePoint], rounds: int) -> tuple[int, float]:
    """Suggestions, and the sum of their improvement, of the first answers."""
    at = bisect_right(curve, rounds, key=lambda score: score.rounds) - 1
    return (0, 0.0) if at < 0 else (curve[at].suggestions, curve[at].suggestions * (curve[at].improvement or 0.0))
