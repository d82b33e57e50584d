"""Rounds: applications wait for the end of theirs, which events announce or the spec's calendar says."""

from __future__ import annotations

from typing import ClassVar, Final

from ....schemas.events import Decision, Round
from ....schemas.headers import format_time
from ...journal.entries import Entry
from ...programs.program import Program
from ..cases import IN_ROUND, Case
from ..contract import Handler
from ..fold import Fold
from ..replies import count_decision
from ..timing.timers import EVENT_TIME, Timer
from .state import ProgramRounds, member_of

ROUND_END: Final = "round-end"
"""The timer that closes a round. The key is the end, in milliseconds since the epoch."""


class RoundHandler(Handler):
    """Sets the timer of an announced round. An announcement of the same end again changes its places."""

    kind: ClassVar[str] = "round"

    def apply(self, entry: Entry, event: Round, fold: Fold) -> None:
        """Expect the end of the round; refuse one that may have been closed, or that the program does not have."""
        program = fold.state.program(event.program)
        end_ms = round(event.ends_at.timestamp() * 1000)
        if (problem := _problem(program, end_ms, entry, fold)) is not None:
            fold.dead_letter(entry, *problem)
            return
        rounds = fold.change(ProgramRounds, program)
        expect(rounds, end_ms, fold, event.places)
        rounds.announced_ms[end_ms] = entry.time_ms


def _problem(program: Program, end_ms: int, entry: Entry, fold: Fold) -> tuple[str, str] | None:
    end = format_time(end_ms)
    if not program.closes_rounds:
        return "round_not_expected", f"program {program.name!r} has no rounds (spec: policy.goal and capacity)"
    rounds = fold.change(ProgramRounds, program)
    if rounds.calendar is not None and not rounds.calendar.ends_at(end_ms):
        return "round_not_in_calendar", f"no round of program {program.name!r} ends at {end} (spec: capacity)"
    last_ms = rounds.last_end_ms if rounds.closing is None else rounds.closing.end_ms
    if last_ms is not None and end_ms <= (last_ms := max([last_ms, *rounds.overdue])):
        last = format_time(last_ms)
        return "round_already_closed", f"the round that ends at {end} is not after the last one, which ended at {last}"
    if end_ms + program.lateness_ms < entry.time_ms:
        return "round_announced_too_late", f"the round ended at {end}: announce it before, by `ce_time`"
    return None


def expect(rounds: ProgramRounds, end_ms: int, fold: Fold, places: int | None = None) -> None:
    """Set the timer of a round's end, with its places if they are not the spec's."""
    program = rounds.program
    if end_ms not in rounds.due:
        due = end_ms + program.lateness_ms
        fold.timers.set(Timer(program.name, ROUND_END, EVENT_TIME, due, str(end_ms)))
        rounds.due[end_ms] = places
    elif places is not None:
        rounds.due[end_ms] = places


def join_pool(case: Case, entry: Entry, program: Program, fold: Fold) -> None:
    """Let a new case wait for its round: by its event time, unless that round is closed already."""
    rounds = fold.change(ProgramRounds, program)
    case.wait(IN_ROUND, fold.forget_ms(program, entry.time_ms, program.undecided_ms))
    case.from_round = rounds.earliest_round
    fold.save(case)
    if program.spec.decisions == "external":
        rounds.pool[case.key.application] = member_of(case)
    else:
        _join(case, rounds, entry.time_ms, fold)


def keep_decision(case: Case, entry: Entry, event: Decision, program: Program, fold: Fold) -> None:
    """Keep what another system has decided until the round of the decision's event time is closed."""
    rounds = fold.change(ProgramRounds, program)
    count_decision(program, fold, approved=event.approved)
    case.approved, case.decided_ms, case.decision_event_id = event.approved, entry.time_ms, entry.id
    case.from_round = rounds.earliest_round
    fold.save(case)
    _join(case, rounds, entry.time_ms, fold)


def _join(case: Case, rounds: ProgramRounds, time_ms: int, fold: Fold) -> None:
    rounds.pool[case.key.application] = member_of(case)
    end_ms = rounds.calendar_end(time_ms)
    if end_ms is not None:
        expect(rounds, end_ms, fold)
