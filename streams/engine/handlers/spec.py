"""Specs: a program begins with its first one, and goes on with another from here on."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import RawSpec
from ...errors import LedgerError
from ...journal.engine_lines import is_engine_line
from ...journal.entries import Entry
from ...programs.announced_spec import SPEC_REFUSED, read_spec
from ...programs.spec_changes import SpecRefusedError
from ..contract import Handler, works
from ..fold import Fold
from ..state import PartitionState

BY_COST = "; the file of a program that began before there was an objective needs `policy: {objective: cost}`"


class SpecHandler(Handler):
    """Puts a program under a spec.

    A line without a source is the declaration of a worker that starts: each worker declares its programs before it
    appends anything of them. The first declaration begins a program. What others have sent to the topic ``specs``
    changes it. What must be done under the spec before is finished first, such as a round that has ended.
    """

    kind: ClassVar[str] = "spec"

    def ends_segment(self, entry: Entry, state: PartitionState) -> bool:
        """A change, and the beginning of a program."""
        assert isinstance(entry.body, RawSpec), f"{entry.kind.name} is no spec"
        return entry.source is not None or entry.body.program not in state.programs

    def apply(self, entry: Entry, event: RawSpec, fold: Fold) -> None:
        """Begin the program, or change its spec; a spec that it cannot have is a dead letter."""
        if entry.source is None:
            _declare(event, fold)
        else:
            _change(entry, event, fold)


def _declare(event: RawSpec, fold: Fold) -> None:
    state = fold.state
    if event.program in state.programs or is_engine_line(event):
        return
    given = state.given_program(event.program)
    try:
        state.begin(given.begun_with(read_spec(event, given)))
    except SpecRefusedError as error:
        hint = BY_COST if "policy.objective" in str(error) else ""
        raise LedgerError(
            f"the worker's file of program {given.name!r} is not the spec with which its journal begins "
            f"(file -> journal): {error}{hint}"
        ) from None


def _change(entry: Entry, event: RawSpec, fold: Fold) -> None:
    program = fold.state.program(event.program)
    try:
        changed = program.changed(read_spec(event, program))
    except SpecRefusedError as error:
        fold.dead_letter(entry, SPEC_REFUSED, str(error))
        return
    if changed.sha256 == program.sha256:
        return
    for work in works.values():
        work.before_change(program, fold)
    fold.change_spec(changed)
    fold.count("specs", program.name)
