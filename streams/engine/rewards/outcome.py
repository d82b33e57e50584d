"""Outcomes, and windows that end without one: what happened after a recourse is learned, and published as its fate."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import Outcome
from ...journal.entries import Entry
from ...programs.program import Program
from ..cases import CENSORED, REWARDED, UNSEEN, Case
from ..contract import CaseTimerHandler, Handler
from ..fold import Fold
from ..picks.pick import pick
from ..portion import Footprint
from ..timing.timers import WINDOW
from .fates import close, credited, dangling, late


class OutcomeHandler(Handler):
    """Applies outcomes. An outcome that comes before its recourse waits for it."""

    kind: ClassVar[str] = "outcome"

    def touch(self, entry: Entry, footprint: Footprint) -> None:
        """The case, and an earlier copy of the outcome."""
        footprint.may_touch_case(entry.key)
        footprint.may_repeat(entry)

    def apply(self, entry: Entry, event: Outcome, fold: Fold) -> None:
        """Close the recourse that the outcome is about, if it is open."""
        program = fold.state.program(event.program)
        case = fold.ready_case(entry)
        if fold.was_processed(entry):
            fold.count("duplicates", "outcome")
        elif case is None:
            fold.wait(entry)
        elif case.outcome_event_id == entry.id:
            fold.count("duplicates", "outcome")
        elif not case.options or entry.time_ms + program.lateness_ms < case.time_ms:
            dangling(entry, fold)
        else:
            _apply_to_recourse(entry, event, case, program, fold)

    def give_up(self, entry: Entry, event: Outcome, fold: Fold) -> None:
        """An outcome without a recourse dangles."""
        dangling(entry, fold)


class WindowTimerHandler(CaseTimerHandler):
    """Censors the recourses whose window has passed, in steps or in event time: the reward is 0."""

    kind: ClassVar[str] = WINDOW

    def end(self, case: Case, fold: Fold) -> None:
        """Close the case."""
        shard, option = fold.state.shards[case.key.program, case.shard], credited(case, None)
        # The window of steps ends with the entry that is being folded.
        time_ms = fold.entry.time_ms if case.deadline_ms is None else case.deadline_ms
        close(case, shard, "censored", 0.0, option, time_ms, fold)


def _apply_to_recourse(entry: Entry, event: Outcome, case: Case, program: Program, fold: Fold) -> None:
    """Apply an outcome to a case that has a recourse, and end it where it is open and the outcome in time."""
    application = case.key.application
    try:
        option = credited(case, event.option)
    except KeyError:
        fold.remember(entry)
        detail = f"the recourse of application {application!r} has no option {event.option!r}"
        fold.dead_letter(entry, "unknown_option", detail)
        return
    if case.status is REWARDED or case.status is UNSEEN:
        fold.remember(entry)
        detail = f"the recourse of application {application!r} has its outcome already"
        fold.dead_letter(entry, "already_has_outcome", detail)
    elif case.status is CENSORED or case.is_over(entry.time_ms):
        late(entry, case, option, fold)
    else:
        shard = fold.state.shard(program, case.shard)
        case.outcome_event_id = entry.id
        if event.result == "unseen":
            close(case, shard, "unseen", None, option, entry.time_ms, fold)
            return
        assert case.step is not None, f"{case.key} has options without a step"
        if event.option is not None and option is not None and (case.picked is None or case.picked.place is None):
            pick(entry, case, option, program, fold)
        fold.effects.delays.append((program.name, entry.time_ms - case.time_ms, shard.step - case.step))
        close(case, shard, "rewarded", float(event.result == "improved"), option, entry.time_ms, fold)
