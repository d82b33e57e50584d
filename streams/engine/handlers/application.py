"""Applications: a case begins, and the program's own model decides it where the program says so."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import RawApplication
from ...journal.entries import Entry, shard_of
from ..assessment import Person
from ..cases import AWAITING_DECISION, Case
from ..contract import Handler, apply_waiting
from ..fold import Fold
from ..portion import Footprint
from ..rounds.announcement import join_pool
from .decision import decide


class ApplicationHandler(Handler):
    """Opens a case for every application whose name is not in use."""

    kind: ClassVar[str] = "application"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, and a step of its shard."""
        footprint.may_touch_case(entry.key)
        footprint.may_step(entry.key)

    def person(self, entry: Entry, fold: Fold) -> Person | None:
        """The applicant, where the program's own model decides. Nobody whom the spec refuses."""
        event = entry.body
        assert isinstance(event, RawApplication), f"{entry.kind.name} is no application"
        program = fold.state.program(event.program)
        decided_now = program.spec.decisions == "model" and not program.closes_rounds
        if program.codec.is_narrowed and program.codec.outside(event.features) is not None:
            return None
        return Person(event.features) if decided_now else None

    def surely_takes_step(self, entry: Entry, fold: Fold) -> bool:
        """A new name is answered at once, if the model rejects it. In programs with rounds or questions nobody is.

        Nor is somebody who comes back, where an older model may accept them.
        """
        if entry.key in fold.cases or entry.key in fold.state.waiting.by_case:
            return False
        event = entry.body
        assert isinstance(event, RawApplication), f"{entry.kind.name} is no application"
        comes_back = event.previous is not None or event.applicant is not None
        program = fold.state.program(event.program)
        return not program.asks and not (comes_back and program.spec.promise.grandfather)

    def apply(self, entry: Entry, event: RawApplication, fold: Fold) -> None:
        """Open the case; decide it if the program's own model does."""
        program = fold.state.program(event.program)
        known = fold.case(entry.key)
        if known is not None:
            _refuse(entry, event, known, fold)
            return
        # Ingest reads all that can be encoded: it cannot know which spec is in force at this place of the journal.
        problem = program.codec.outside(event.features)
        if problem is not None:
            fold.dead_letter(entry, problem.reason, problem.detail)
            return
        fold.count("applications", event.program)
        shard = shard_of(event.application, program.spec.shards)
        case = Case(entry.key, shard, AWAITING_DECISION, entry.time_ms, entry.id, 0, event.applicant)
        case.features, case.previous = bytes(event.features), event.previous
        if program.closes_rounds:
            join_pool(case, entry, program, fold)
        elif program.spec.decisions == "external":
            case.wait(AWAITING_DECISION, fold.forget_ms(program, entry.time_ms, program.undecided_ms))
            fold.save(case)
        else:
            decide(case, Person(event.features), entry, program, fold)
            return
        apply_waiting(case.key, fold)


def _refuse(entry: Entry, event: RawApplication, known: Case, fold: Fold) -> None:
    if known.application_event_id == entry.id:
        fold.count("duplicates", "application")
        return
    detail = f"application {event.application!r} is known under another ce_id; a new one needs a new name"
    fold.dead_letter(entry, "application_already_known", detail)
