"""Erasures: all that the ledger holds of an application, or of an applicant, goes."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import Erased, RawErasure
from ...journal.entries import CaseKey, Entry
from ...programs.program import Program
from ...records import TopicPartition
from ..cases import Case
from ..contract import Handler, works
from ..fold import Fold
from ..portion import Footprint
from ..state import PartitionState
from .state import Named, remember_erased
from .withdrawal import Withdrawn, forget_previous, forget_waiting, withdraw_case, withdraw_promises


class ErasureHandler(Handler):
    """Erases somebody. A second erasure of the same person finds nothing, and has a receipt that says so.

    Rounds that have ended are closed first: their people compete as they did when the round ended.
    """

    kind: ClassVar[str] = "erasure"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """All that names the person."""
        event = entry.body
        assert isinstance(event, RawErasure), f"{entry.kind.name} is no erasure"
        footprint.may_touch_all_of(event.program, _name_of(event))

    def ends_segment(self, entry: Entry, state: PartitionState) -> bool:
        """Whether later events of the person count depends on it."""
        return True

    def apply(self, entry: Entry, event: RawErasure, fold: Fold) -> None:
        """Delete what there is, remember the hashes of the names, and publish the receipt."""
        program = fold.state.program(event.program)
        for work in works.values():
            work.before_change(program, fold)
        withdrawn = _erase(entry, event, program, fold)
        fold.effects.erased = True
        fold.count("erasures", program.name, "erased" if withdrawn.cases else "nothing found")
        _publish(entry, event, withdrawn, fold)


def _erase(entry: Entry, event: RawErasure, program: Program, fold: Fold) -> Withdrawn:
    withdrawn = Withdrawn()
    named = [case for case in fold.cases_naming(program.name, _name_of(event)) if _is_meant(case, event)]
    applications = sorted({case.key.application for case in named} | set(filter(None, [event.application])))
    for application in applications:
        _remember(entry, event, program, "application", application, fold)
        withdrawn.waiting += forget_waiting(CaseKey(program.name, application), fold)
        withdrawn.promises += withdraw_promises(program, application, None, fold)
    if event.applicant is not None:
        _remember(entry, event, program, "applicant", event.applicant, fold)
        withdrawn.promises += withdraw_promises(program, None, event.applicant, fold)
    for case in named:
        withdraw_case(case, program, withdrawn, fold)
    # Others may follow an application of the applicant's, which only its case names.
    if followed := set(applications) - {_name_of(event)}:
        fold.read_naming(program.name, followed)
    for application in applications:
        for case in fold.cases_naming(program.name, application):
            forget_previous(case, program, fold)
    return withdrawn


def _name_of(event: RawErasure) -> str:
    name = event.application or event.applicant
    assert name is not None, "an erasure names somebody"
    return name


def _is_meant(case: Case, event: RawErasure) -> bool:
    if event.application is not None:
        return case.key.application == event.application
    return case.applicant == event.applicant


def _remember(entry: Entry, event: RawErasure, program: Program, named: Named, name: str, fold: Fold) -> None:
    until_ms = None
    if named == "applicant":
        until_ms = entry.time_ms if entry.clock_ms is None else entry.clock_ms
    remember_erased(program, named, name, event.key, entry.time_ms, until_ms, fold)


def _publish(entry: Entry, event: RawErasure, withdrawn: Withdrawn, fold: Fold) -> None:
    """Publish the receipt, under the place of the erasure: its own id may name somebody."""
    topic, number = entry.source or TopicPartition("", -1)
    place, partition = f"{topic}/{number}/{entry.source_offset}", fold.state.partition
    receipt = Erased(
        program=event.program,
        erasure=place,
        by="application" if event.application is not None else "applicant",
        partition=partition,
        cases=withdrawn.cases,
        waiting=withdrawn.waiting,
        promises=withdrawn.promises,
        recourses=tuple(withdrawn.recourses),
    )
    fold.emit(receipt, f"erased/{place}/{partition}", entry.time_ms, event.program)
