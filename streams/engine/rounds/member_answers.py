"""Placement: each member of a closed round is approved, or answered with a recourse and a promise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....agents.options import OptionBatch
from ....agents.reached import reaches_score
from ....agents.reasons import MOST_REASONS
from ....schemas.encoding import Problem
from ....schemas.events import APPLY_AGAIN, ExecutionSource, PromiseStatus, Reason
from ....schemas.headers import format_time
from ...programs.reasons import PersonReasons
from ..applicants import count_ignored
from ..assessment import NO_SCORE, AssessedPerson, Assessment, SelectedOption, assess, reasons_of
from ..cases import Case
from ..fold import Fold
from ..promises.ending import publish_promise_end
from ..replies import DecidedCase, Refusal, Terms, answer_people, no_options, open_ended_first, publish_decision
from ..selection import select_for_steps
from ..shards import Shard
from .forecast import model_for, success_of
from .promised_scores import PROMISED_SCORES, PromisedScore
from .result import competing, have_place, scores_of, too_early
from .state import Closing, ProgramRounds, RoundMember

APPLIED_TWICE = ("applied_twice", "the same person has an earlier application in this round, and it counts")
TOO_EARLY = (APPLY_AGAIN, "this round had no places: the score that was promised to win one is reached already")
TOO_FEW_PLACES = "round {} had fewer places than there were people who qualify"

Assessed = Mapping[str, Assessment | Problem]


def answer_members(rounds: ProgramRounds, closing: Closing, members: Sequence[RoundMember], fold: Fold) -> None:
    """Decide and answer members of a round, in their order; settle what they were promised before."""
    program = rounds.program
    cases = fold.read_cases(program.name, [member.name for member in members])
    for case in cases.values():
        case.time_ms = max(case.time_ms, closing.end_ms)
    terms = RoundTerms(rounds, closing, members, fold)
    answer_people(_decided(members, cases, terms, fold), terms, fold)


class RoundTerms(Terms):
    """The terms of a round: its number and end, the score to reach, and until when it wins a place."""

    def __init__(self, rounds: ProgramRounds, closing: Closing, members: Sequence[RoundMember], fold: Fold) -> None:
        model = fold.state.model(rounds.program)
        if closing.goal is not None:
            model = model_for(rounds, model.bundle, closing.goal)
        super().__init__(model)
        self.rounds, self.closing = rounds, closing
        self._members = {member.name: member for member in members}
        self.competing = _by_name(members, competing(members, closing))
        self.have_place = _by_name(members, have_place(members, closing, rounds.program))
        self._expires_ms = None if rounds.calendar is None else rounds.calendar.end_of(closing.until_round)
        self.still_promised = too_early(rounds, closing, members, self.model.bundle)

    def settle(self, person: DecidedCase, fold: Fold) -> DecidedCase:
        """End the promise that a member came back with, unless they did not compete."""
        member, closing = self._members[person.case.key.application], self.closing
        named = self.rounds.promised_scores.by_application.get(member.previous or "")
        count_ignored(member.previous, member.applicant, named, self.program.name, fold)
        promise = self.rounds.promise_of(member)
        competed = self.competing[member.name] and member.name not in self.still_promised
        if promise is not None and promise.round < closing.number and competed:
            reached = reaches_score(scores_of([member]), promise.score_under(self.model.bundle)).item()
            status: PromiseStatus = "kept" if person.approved else "broken" if reached else "superseded"
            end_promised_score(promise, status, self.rounds, fold, member)
        return person

    def report_decision(self, person: DecidedCase, fold: Fold) -> None:
        """Publish whether a member has a place. Decisions of another system were counted when they came."""
        member, closing = self._members[person.case.key.application], self.closing
        if member.approved is None:
            score = None if member.score is None or isnan(member.score) else member.score
            publish_decision(person, self.program, fold, round=closing.number, score=score, threshold=closing.threshold)

    def promise_options_until(self, person: DecidedCase, selected: Sequence[SelectedOption], fold: Fold) -> int | None:
        """The score is promised, until the end of the last round for which it holds."""
        return self._expires_ms

    def execution_source(self, person: DecidedCase, shard: Shard, fold: Fold) -> ExecutionSource:
        """Those of rounds follow from difficulties, which are learned from people who come back."""
        return "learned" if self.rounds.learners.difficulty.has_learned else shard.execution_source

    def extra_fields(self, person: DecidedCase, none: str | None) -> Mapping[str, Any]:
        """The score to reach, or that a person has already, and its rounds; nothing for those who did not compete.

        Who cannot reach it reads that it is one of rounds to come.
        """
        closing = self.closing
        fields: dict[str, Any] = {"round": closing.number, "target_score": closing.goal}
        if none is not None and none != APPLY_AGAIN:
            return {} if person.refusal is not None else fields
        until, without, expires_ms = closing.until_round, closing.without, self._expires_ms
        promise = self.still_promised.get(person.case.key.application)
        if promise is not None:
            fields["target_score"] = promise.score_under(self.model.bundle)
            until, without = promise.until_round, promise.without
            expires_ms = None if self.rounds.calendar is None else self.rounds.calendar.end_of(until)
        if none is not None and expires_ms is not None:
            fields["expires_at"] = format_time(expires_ms)
        left = tuple([number for number in without if number > closing.number])
        if left:
            fields["rounds_without_places"] = left
        valid_from = format_time(self.rounds.opens_ms(closing, left))
        return {**fields, "until_round": until, "valid_from": valid_from}

    def after_answer(self, person: DecidedCase, selected: Sequence[SelectedOption], fold: Fold) -> None:
        """Promise the score where there is something to promise; it supersedes that of an earlier answer."""
        if not selected and (person.refusal is None or person.refusal[0] != APPLY_AGAIN):
            return
        if person.case.key.application in self.still_promised:
            return
        promise, rounds = self._promise(person, selected), self.rounds
        earlier = rounds.promised_scores.of_applicant(promise.applicant)
        if earlier is not None and earlier.key != promise.key:
            member = self._members[promise.key.application]
            end_promised_score(earlier, "superseded", rounds, fold, member)
        rounds.promised_scores.add(promise)
        fold.rows(PROMISED_SCORES).put(promise)

    def _promise(self, person: DecidedCase, selected: Sequence[SelectedOption]) -> PromisedScore:
        closing, case = self.closing, person.case
        assert closing.goal is not None, "a promise names its score"
        batch, row = _place(person.assessment)
        return PromisedScore(
            key=case.key,
            applicant=case.applicant,
            round=closing.number,
            until_round=closing.until_round,
            score=closing.goal,
            success=max((option.execution for option in selected), default=1.0),
            model=self.model.bundle.manifest_sha256,
            person=batch.people[row].tobytes(),
            targets=tuple([batch.points[option.point].tobytes() for option in selected]),
            end_ms=closing.end_ms,
            without=closing.without,
        )


def _by_name(members: Sequence[RoundMember], mask: NDArray[np.bool_]) -> Mapping[str, bool]:
    return dict(zip([member.name for member in members], mask.tolist(), strict=True))


# --- decided members ---------------------------------------------------------------------------------------------


def _decided(
    members: Sequence[RoundMember], cases: Mapping[str, Case], terms: RoundTerms, fold: Fold
) -> Iterator[DecidedCase]:
    """Members with their options, or why they get none.

    Each rejected one takes a step, with or without options: a learner counts them. Between them nothing changes the
    learner, so their steps are taken at once.
    """
    rejected = [member for member in members if not terms.have_place[member.name]]
    refusals = {member.name: reason for member in rejected if (reason := _refusal(member, terms)) is not None}
    names = [member.name for member in rejected]
    people = {
        name: AssessedPerson(cases[name].features_json, approved=False)
        for name in names
        if name not in refusals or refusals[name][0] == APPLY_AGAIN
    }
    known = terms.closing.goal is not None
    assessed = assess(terms.program, terms.model, people, partial(success_of, terms.rounds)) if known else {}
    selected = _steps(names, refusals, assessed, terms, fold)
    reasons = _reasons(rejected, cases, terms, fold) if terms.program.spec.decisions == "model" else {}
    for member in members:
        name = member.name
        assessment = assessed.get(name)
        assert not isinstance(assessment, Problem), f"{name} was scored"
        yield DecidedCase(
            cases[name],
            terms.have_place[name],
            assessment,
            refusals.get(name),
            selected=selected.get(name),
            reasons=reasons.get(name),
        )


def _reasons(
    rejected: Sequence[RoundMember], cases: Mapping[str, Case], terms: RoundTerms, fold: Fold
) -> Mapping[str, PersonReasons]:
    """Why members have no place, by name.

    Of those whom the model would approve it is first that there were too few places. Then, and of the others, it is
    their features. Who did not compete has that as the only reason.
    """
    program, number = terms.program, terms.closing.number
    compete = [member for member in rejected if terms.competing[member.name]]
    people = [program.codec.read(cases[member.name].features_json) for member in compete]
    values = [personal for personal in people if not isinstance(personal, Problem)]
    assert len(values) == len(compete), "who competes was scored"
    reasons: dict[str, PersonReasons] = {}
    for member, personal in zip(compete, reasons_of(fold.state.model(program), values), strict=True):
        assert member.score is not None, "who competes was scored"
        qualifies = program.approves(np.array([member.score])).item()
        lack = (Reason(TOO_FEW_PLACES.format(number)),) if qualifies else ()
        if personal is not None or lack:
            stated, withheld = personal or PersonReasons(())
            reasons[member.name] = PersonReasons((*lack, *stated)[:MOST_REASONS], withheld)
    for member in rejected:
        if not terms.competing[member.name]:
            twice = member.name in terms.closing.duplicate_applications
            _, detail = APPLIED_TWICE if twice else NO_SCORE
            reasons[member.name] = PersonReasons((Reason(detail),))
    return reasons


def _refusal(member: RoundMember, terms: RoundTerms) -> Refusal | None:
    """The reason why a rejected member gets no options; None where they compete for the next goal."""
    if member.name in terms.closing.duplicate_applications:
        return APPLIED_TWICE
    if member.score is None or not terms.competing[member.name]:
        return NO_SCORE.reason, NO_SCORE.detail
    if member.name in terms.still_promised:
        return TOO_EARLY
    score, goal = member.score, terms.closing.goal
    if goal is not None and score > goal:
        return APPLY_AGAIN, "the score is above the next goal already"
    return None


def _steps(
    names: Sequence[str], refusals: Mapping[str, Refusal], assessed: Assessed, terms: RoundTerms, fold: Fold
) -> Mapping[str, tuple[SelectedOption, ...]]:
    """The picks of the next steps of the program's shard, in the order of the names."""
    program = terms.program
    shard, nothing = fold.state.shard(program, 0), (no_options(program.codec.dimension), 0)
    places = {name: nothing if name in refusals else _place(assessed[name]) for name in names}
    selected: dict[str, tuple[SelectedOption, ...]] = {}
    for _, group in groupby(names, key=lambda name: id(places[name][0])):
        together = list(group)
        batch, rows = places[together[0]][0], [places[name][1] for name in together]
        picked = select_for_steps(program, shard, shard.step + len(selected), batch, rows, fold.state)
        for name, options in zip(together, picked, strict=True):
            assessment = assessed.get(name)
            selected[name] = (
                open_ended_first(terms.model, assessment, options) if isinstance(assessment, Assessment) else options
            )
    return selected


def _place(assessment: Assessment | Problem | None) -> tuple[OptionBatch, int]:
    """The batch and row of a rejected member's options."""
    assert isinstance(assessment, Assessment), "the member was scored"
    return assessment.rejected_batch, assessment.row


def end_promised_score(
    promise: PromisedScore, status: PromiseStatus, rounds: ProgramRounds, fold: Fold, member: RoundMember | None = None
) -> None:
    """End the promise of a score in the round that is being closed. ``member`` is the one who came back."""
    closing = rounds.closing
    assert closing is not None, "a round is being closed"
    program, application = promise.key
    setattr(rounds.promise_counts, status, getattr(rounds.promise_counts, status) + 1)
    rounds.promised_scores.remove(promise)
    fold.rows(PROMISED_SCORES).delete(promise.key)
    publish_promise_end(
        promise.key,
        status,
        f"promise/{program}/{application}",
        closing.end_ms,
        fold,
        shard=0,
        applicant=promise.applicant,
        target_score=promise.score,
        round=promise.round,
        until_round=promise.until_round,
        settled_in=closing.number,
        by=None if member is None else member.name,
        score=None if member is None else member.score,
    )
