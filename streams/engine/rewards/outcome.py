"""Outcomes, and windows that end without one: what happened after a recourse is learned, and published as its fate."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET

from ....agents.choices import Seen
from ....schemas.events import Outcome
from ...journal.entries import Entry
from ...programs.program import Program
from ..cases import CENSORED, OPEN, REWARDED, UNSEEN, Acting, Case
from ..contract import CaseTimerHandler, Handler
from ..fold import Fold
from ..picks.pick import pick
from ..portion import Footprint
from ..shards import Shard
from ..timing.timers import WINDOW
from .acting import NOTHING, note_acting
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
    """Censors the recourses whose window has passed, in steps or in event time: the reward is 0.

    Where people would have been seen to act, who was not until the window to act has passed is taken not to have.
    """

    kind: ClassVar[str] = WINDOW

    def end(self, case: Case, fold: Fold) -> None:
        """Close the case."""
        shard = fold.state.shards[case.key.program, case.shard]
        if shard.program.learns_by_stages:
            _end_stage(case, shard, fold)
        else:
            close(case, shard, "censored", 0.0, credited(case, None), _ended_ms(case, fold), fold)


def _ended_ms(case: Case, fold: Fold) -> int:
    """When a window has ended; one of steps ends with the entry that is being folded."""
    return fold.entry.time_ms if case.deadline_ms is None else case.deadline_ms


def _end_stage(case: Case, shard: Shard, fold: Fold) -> None:
    """End the window to act, or the whole window, which may be one."""
    program, option = shard.program, credited(case, None)
    closes_ms = None if case.deadline_ms is None else case.deadline_ms + program.lateness_ms
    goes_on = closes_ms is not None and case.due < closes_ms
    # Until somebody is seen to act nobody knows whether people are seen at all.
    if case.acting is None and program.silence_is_inaction and shard.learner.has_seen_acting:
        time_ms = case.due - program.lateness_ms if goes_on else _ended_ms(case, fold)
        note_acting(case, shard, Acting(False, option), "silent", time_ms, fold)
    if closes_ms is not None and goes_on:
        case.wait(OPEN, closes_ms)
        fold.save(case)
        return
    seen = NOTHING
    if case.acting is not None:
        seen, option = Seen(case.acting.acted, None, program.silence_is_inaction), case.acting.option
    close(case, shard, "censored", 0.0, option, _ended_ms(case, fold), fold, seen)


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
        if event.option is None and case.acting is not None and case.acting.option is not None:
            option = case.acting.option
        assert case.step is not None, f"{case.key} has options without a step"
        if event.option is not None and option is not None and (case.picked is None or case.picked.place is None):
            pick(entry, case, option, program, fold)
        fold.observe("outcome_delay_seconds", (entry.time_ms - case.time_ms) / 1000, program.name)
        fold.observe("outcome_delay_steps", shard.step - case.step, program.name)
        reward, seen = float(event.result == "improved"), _seen(event, case, program)
        close(case, shard, "rewarded", reward, option, entry.time_ms, fold, seen)


def _seen(event: Outcome, case: Case, program: Program) -> Seen:
    """What an outcome lets see, with what was heard before: who did not act was helped by nothing."""
    heard = case.acting.acted if case.acting is not None and case.acting.is_heard else None
    acted = heard if event.acted is UNSET else event.acted
    return Seen(acted, None if acted is False else event.result == "improved", program.silence_is_inaction)
