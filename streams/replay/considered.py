"""The options that were considered for a person, as the fold of the journal computes them again."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...schemas.encoding import Values
from ...schemas.events import Change
from ..programs.program import Program
from .journal_replay import ReplayedStep


class ConsideredOption(Struct, frozen=True, gc=False):
    """An option that the program's learner could pick.

    ``candidate`` is its arm, ``execution_probability`` the chance that it is carried out, and ``picked`` whether it is
    in the answer.
    """

    candidate: str
    changes: tuple[Change, ...]
    execution_probability: float
    picked: bool


def considered_options(step: ReplayedStep, program: Program, values: Values) -> list[ConsideredOption]:
    """The options of a step for a person with these raw values: those picked first, then by execution probability."""
    options, picked = step.options, {arm for arm, _ in step.picked}
    people, codec = np.repeat(options.person[np.newaxis], options.number, axis=0), program.codec
    changed = (
        None
        if program.generator.copies_instances
        else codec.changed_codes(people, program.stated_targets(people, options.targets))
    )
    considered = [
        ConsideredOption(
            str(options.arm.item(index)),
            program.changes(values, changed, index, options.point.item(index)),
            options.execution.item(index),
            options.arm.item(index) in picked,
        )
        for index in range(options.number)
    ]
    return sorted(considered, key=lambda option: (not option.picked, -option.execution_probability))
