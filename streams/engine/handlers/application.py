"""Applications: a case begins, and the program's own model decides it where the program says so."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import RawApplication
from ...journal.entries import CaseKey, Entry, shard_of
from ...programs.program import Program
from ..applicants import is_same
from ..assessment import AssessedPerson
from ..cases import AWAITING_DECISION, Case
from ..contract import Handler, apply_waiting
from ..fold import Fold
from ..portion import Footprint
from ..promises.promised_options import PromisedOptions
from ..promises.state import promise_of
from ..rewards.returns import note_return
from ..rounds.announcement import join_pool
from ..rounds.promised_scores import PromisedScore
from ..rounds.state import ProgramRounds
from .decision import decide


class ApplicationHandler(Handler):
    """Opens a case for every application whose name is not in use."""

    kind: ClassVar[str] = "application"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, and a step of its shard."""
        footprint.may_touch_case(entry.key)
        footprint.may_step(entry.key)

    def person(self, entry: Entry, fold: Fold) -> AssessedPerson | None:
        """The applicant, where the program's own model decides. Nobody whom the spec refuses."""
        event = entry.body
        assert isinstance(event, RawApplication), f"{entry.kind.name} is no application"
        program = fold.state.program(event.program)
        decided_now = program.spec.decisions == "model" and not program.closes_rounds
        if program.codec.is_narrowed and program.codec.outside(event.features) is not None:
            return None
        return AssessedPerson(event.features) if decided_now else None

    def surely_takes_step(self, entry: Entry, fold: Fold) -> bool:
        """A new name is answered at once, if the model rejects it. In programs with rounds or questions nobody is.

        Nor is somebody who comes back, where an older model may accept them or a learner learns of it.
        """
        if entry.key in fold.cases or entry.key in fold.state.waiting.by_case:
            return False
        event = entry.body
        assert isinstance(event, RawApplication), f"{entry.kind.name} is no application"
        program = fold.state.program(event.program)
        returns = event.previous is not None and program.learns_by_stages
        if program.asks or returns or (event.applicant is not None and program.spec.promise.grandfather):
            return False
        return _open_promise(entry.key, program, fold) is None

    def apply(self, entry: Entry, event: RawApplication, fold: Fold) -> None:
        """Open the case; decide it if the program's own model does."""
        program = fold.state.program(event.program)
        if not _has_name(entry, event, program, fold):
            return
        # Ingest reads all that can be encoded: it cannot know which spec is in force at this place of the journal.
        problem = program.codec.outside(event.features)
        if problem is not None:
            fold.dead_letter(entry, problem.reason, problem.detail)
            return
        fold.count("applications", event.program)
        note_return(event.previous, event.applicant, event.features, entry.time_ms, program, fold)
        shard = shard_of(event.application, program.spec.shards)
        case = Case(entry.key, shard, AWAITING_DECISION, entry.time_ms, entry.id, 0, event.applicant)
        case.features, case.previous = bytes(event.features), event.previous
        if program.closes_rounds:
            join_pool(case, entry, program, fold)
        elif program.spec.decisions == "external":
            case.wait(AWAITING_DECISION, fold.forget_ms(program, entry.time_ms, program.undecided_ms))
            fold.save(case)
        else:
            decide(case, AssessedPerson(event.features), entry, program, fold)
            return
        apply_waiting(case.key, fold)


def _has_name(entry: Entry, event: RawApplication, program: Program, fold: Fold) -> bool:
    """Whether an application gets the name that it comes with. A repeat is counted, any other one refused.

    A name is in use while its case is known, and for others than its applicant while its promise is open.
    """
    known, promise = fold.case(entry.key), _open_promise(entry.key, program, fold)
    holder = promise if known is None else known
    if holder is None or (known is None and is_same(event.applicant, holder.applicant)):
        return True
    name = repr(event.application)
    if event.applicant != holder.applicant:
        detail = f"application {name} has another applicant, or none: a new one needs a new name"
        fold.dead_letter(entry, "name_of_another_applicant", detail)
    elif known is not None and known.application_event_id == entry.id:
        fold.count("duplicates", "application")
    else:
        detail = f"application {name} is known under another ce_id; a new one needs a new name"
        fold.dead_letter(entry, "application_already_known", detail)
    return False


def _open_promise(key: CaseKey, program: Program, fold: Fold) -> PromisedOptions | PromisedScore | None:
    """What is promised under a name: it may be open after its case is forgotten."""
    if program.closes_rounds:
        return fold.change(ProgramRounds, program).promised_scores.by_application.get(key.application)
    return promise_of(key, fold) if program.promises else None
