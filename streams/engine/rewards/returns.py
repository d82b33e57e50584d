"""Returns: a person who comes back with what an option asked for has carried it out."""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from ....agents.reached import reaches_target
from ....schemas.encoding import Problem
from ...programs.program import Program
from ..applicants import is_same
from ..cases import OPEN, Acting
from ..fold import Fold
from .acting import note_acting

Array = NDArray[np.float64]

RETURNED: Final = ""
"""The ``event`` of ``Acting`` that a return let see."""


def changed_columns(person: Array, target: Array, program: Program) -> bytes:
    """The changes that an option asks for, as bytes: column, target and direction of each encoded column that changes.

    ``person`` and ``target`` are encoded, (D,). What only follows is not asked for.
    """
    changed = np.flatnonzero(person != program.stated_targets(person[np.newaxis], target[np.newaxis])[0])
    rows = np.stack([changed, target[changed], np.sign(target - person)[changed]], axis=1)
    return rows.astype(np.float64).tobytes()


def note_return(
    previous: str | None, applicant: str | None, features: bytes | Raw, time_ms: int, program: Program, fold: Fold
) -> None:
    """Let the case of an earlier application know that its applicant has come back, with these features.

    Who has reached all that an option asked for, or more, has carried it out: of several options the hardest. Nobody is
    known by the name of an earlier application alone.
    """
    if previous is None or not program.learns_by_stages:
        return
    case = fold.read_cases(program.name, [previous]).get(previous)
    if case is None or not is_same(applicant, case.applicant):
        if not program.promises and not program.closes_rounds:
            fold.count("ignored_previous", program.name)
        return
    is_heard = case.acting is not None and case.acting.is_heard
    if case.status is not OPEN or is_heard or case.is_over(time_ms):
        return
    values = program.codec.read(features)
    if isinstance(values, Problem):
        return
    [row] = program.codec.encode_read([values])
    done = [index for index, option in enumerate(case.options) if _is_done(option.target, row)]
    if done:
        hardest = min(done, key=lambda index: case.options[index].execution)
        shard = fold.state.shard(program, case.shard)
        note_acting(case, shard, Acting(True, hardest, RETURNED), "returned", time_ms, fold)


def _is_done(target: bytes, row: Array) -> bool:
    """Whether a person who is encoded so has reached what an option asked for."""
    if not target:
        return False
    column, value, direction = np.frombuffer(target).reshape(-1, 3).T
    return bool(reaches_target(row[column.astype(np.intp)], value, direction).all())
