"""Events that say that somebody acted: what was carried out is learned before anybody knows whether it helped."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import Acted
from ...journal.entries import Entry
from ..cases import CENSORED, OPEN, Acting, Case
from ..contract import Handler
from ..fold import Fold
from ..picks.pick import pick
from ..portion import Footprint
from .acting import note_acting
from .fates import credited

NO_RECOURSE_YET = "no recourse of this application came before it"


class ActedHandler(Handler):
    """Applies events that say that somebody acted. One that comes before its recourse waits for it."""

    kind: ClassVar[str] = "acted"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, and an earlier copy of the event."""
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)

    def apply(self, entry: Entry, event: Acted, fold: Fold) -> None:
        """Note that the person has acted, while their recourse is open."""
        case = fold.ready_case(entry)
        is_known = case is not None and case.acting is not None and case.acting.event == entry.id
        if is_known or fold.was_processed(entry):
            fold.count("duplicates", "acted")
        elif case is None:
            fold.wait(entry)
        elif refusal := _apply_to_recourse(entry, event, case, fold):
            fold.remember(entry)
            fold.dead_letter(entry, *refusal)

    def give_up(self, entry: Entry, event: Acted, fold: Fold) -> None:
        """No recourse came for it."""
        fold.remember(entry)
        fold.dead_letter(entry, "acted_without_recourse", NO_RECOURSE_YET)


def _apply_to_recourse(entry: Entry, event: Acted, case: Case, fold: Fold) -> tuple[str, str] | None:
    """Apply the event to a decided case; return the reason, and a sentence, why it cannot be."""
    program, application = fold.state.program(event.program), case.key.application
    if not case.options:
        return "nothing_offered", f"application {application!r} was offered no option"
    if entry.time_ms + program.lateness_ms < case.time_ms:
        return "acted_without_recourse", NO_RECOURSE_YET
    try:
        option = credited(case, event.option)
    except KeyError:
        return "unknown_option", f"the recourse of application {application!r} has no option {event.option!r}"
    if case.status is CENSORED or (case.status is OPEN and case.is_over(entry.time_ms)):
        return "recourse_closed", f"the recourse of application {application!r} is closed: its window has passed"
    if case.status is not OPEN:
        return "already_has_outcome", f"the recourse of application {application!r} has its outcome already"
    if case.acting is not None and case.acting.event:
        return "already_acted", f"another event has said already that application {application!r} was acted on"
    shard = fold.state.shard(program, case.shard)
    if event.option is not None and option is not None and (case.picked is None or case.picked.place is None):
        pick(entry, case, option, program, fold)
    note_acting(case, shard, Acting(True, option, entry.id), "reported", entry.time_ms, fold)
    return None
