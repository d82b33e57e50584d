"""What a new model's program tells the first of the rejected people of its data."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UnsetType

from ....agents.candidates import Proposals
from ....agents.goals import Goal
from ....agents.promises import Promise
from ....agents.scores import Score
from ....schemas.spec import ProgramSpec
from ..margin import goal_of, margin_of
from ..models.scoring import score_of_options
from .unsaved_program import Floats, Indices, UnsavedProgram

PEOPLE = 50
"""Rejected people who are looked at."""


class RejectedSample(NamedTuple):
    """The ``proposals`` of a program to some rejected ``people`` (n, D), under its ``margin`` and its ``promise``.

    ``owner`` (m,) and ``targets`` (m, D) are everybody's best options, as many as the spec allows.
    """

    spec: ProgramSpec
    program: UnsavedProgram
    margin: float
    promise: Promise
    people: Floats
    proposals: Proposals
    owner: Indices
    targets: Floats

    @classmethod
    def from_people(
        cls, spec: ProgramSpec, program: UnsavedProgram, measured: float | UnsetType, promise: Promise, rejected: Floats
    ) -> RejectedSample:
        """The sample of the first of the ``rejected`` people (n, D), under a model with this ``measured`` margin."""
        people, margin = rejected[:PEOPLE], margin_of(spec, measured)
        robust = promise.robust(score_of_options(program.score))
        proposals = program.vetting_under(robust, goal_of(spec, margin)).propose(people)
        owner, targets = program.best_options(proposals, people, spec.policy.options)
        return cls(spec, program, margin, promise, people, proposals, owner, targets)

    @property
    def robust(self) -> Score:
        """The score on which options are searched."""
        return self.promise.robust(score_of_options(self.program.score))

    @property
    def goal(self) -> Goal:
        """The goal of the options."""
        return goal_of(self.spec, self.margin)
