"""The result of a round, when all its members are scored: who competes, who came back, who gets a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....agents.goals import ClosedRound
from ....agents.reached import reaches_score
from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from .promised_scores import PromisedScore
from .ranking import Ranking, admitted, ranking, ranking_of_decisions, tie_break
from .state import Closing, ProgramRounds, RoundMember

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
EarlyReturns = Mapping[str, PromisedScore]


def scores_of(members: Sequence[RoundMember]) -> Array:
    """The scores of scored members, (n,), NaN where the model cannot score them."""
    return np.array([member.score for member in members], dtype=np.float64)


def competing(members: Sequence[RoundMember], closing: Closing) -> Mask:
    """A mask of members who compete for a place, (n,): they have a score, and no earlier application in the round."""
    duplicates = frozenset(closing.duplicate_applications)
    first = np.array([member.name not in duplicates for member in members], dtype=np.bool_)
    return np.asarray(first & ~np.isnan(scores_of(members)))


def have_place(members: Sequence[RoundMember], closing: Closing, program: Program) -> Mask:
    """A mask of members who have a place, (n,): those above the round's cut, or whom another system has approved."""
    if program.spec.decisions == "external":
        return np.array([bool(member.approved) for member in members], dtype=bool)
    eligible = _eligible(members, closing, program)
    names = [member.name for member in members]
    return admitted(scores_of(members), eligible, closing.cut, names, _tie_breaks(closing, program))


def rank(rounds: ProgramRounds, closing: Closing) -> Ranking:
    """The cut of a round: its last place. Another system may have decided."""
    members, program = rounds.members, rounds.program
    scores, names = scores_of(members), [member.name for member in members]
    if program.spec.decisions == "external":
        competes, approved = competing(members, closing), have_place(members, closing, program)
        return ranking_of_decisions(scores, competes & approved, competes & ~approved)
    eligible, least = _eligible(members, closing, program), program.spec.model.threshold
    return ranking(scores, eligible, closing.places, least, names, _tie_breaks(closing, program))


def _eligible(members: Sequence[RoundMember], closing: Closing, program: Program) -> Mask:
    return competing(members, closing) & program.approves(np.nan_to_num(scores_of(members)))


def _tie_breaks(closing: Closing, program: Program) -> partial[int]:
    return partial(tie_break, program.spec.policy.seed, program.name, closing.number)


class RoundResult(NamedTuple):
    """The observation of the goal, the number of competitors with a place, and those without one."""

    closed: ClosedRound
    accepted: int
    rejected: list[RoundMember]


def result_of(rounds: ProgramRounds, closing: Closing, bundle: ModelBundle) -> RoundResult:
    """The result of the round that is being closed: all its members are scored by a model, and its cut is known."""
    members, scores = rounds.members, scores_of(rounds.members)
    competes = competing(members, closing)
    accepted = competes & have_place(members, closing, rounds.program)
    rejected = [members[index] for index in np.flatnonzero(competes & ~accepted).tolist()]
    returned: dict[CaseKey, tuple[int, PromisedScore]] = {}
    is_back = np.zeros(len(members), dtype=np.bool_)
    for index in np.flatnonzero(competes).tolist():
        promise = rounds.promise_of(members[index])
        is_back[index] = promise is not None and closing.number in promise.without
        if promise is not None and closing.number not in promise.without:
            # The first application of who comes back; where another system decides, there may be several.
            returned.setdefault(promise.key, (index, promise))
    back, promises = [index for index, _ in returned.values()], [promise for _, promise in returned.values()]
    is_back[back] = True
    promised = np.array([promise.score_under(bundle) for promise in promises], dtype=np.float64)
    external = rounds.program.spec.decisions == "external"
    closed = ClosedRound(
        number=closing.number,
        # Where another system decides and has rejected somebody, there were the places that it gave.
        places=int(accepted.sum()) if external and rejected else closing.places,
        threshold=closing.threshold,
        newcomers=scores[competes & ~is_back],
        own_goal=promised,
        lag=np.array([promise.rounds_since(closing.number) for promise in promises], dtype=np.int64),
        reached=reaches_score(scores[back], promised),
        accepted=accepted[back],
    )
    return RoundResult(closed, int(accepted.sum()), rejected)


def too_early(
    rounds: ProgramRounds, closing: Closing, members: Sequence[RoundMember], bundle: ModelBundle
) -> EarlyReturns:
    """The promises with which members have come back too early, by member: they have reached the promised score, and no
    place, and none was promised for this round. These promises stay open."""
    found: dict[str, PromisedScore] = {}
    competes, placed = competing(members, closing), have_place(members, closing, rounds.program)
    for index, score in enumerate(scores_of(members).tolist()):
        promise = rounds.promise_of(members[index])
        if promise is None or closing.number not in promise.without or not competes[index] or placed[index]:
            continue
        if reaches_score(score, promise.score_under(bundle)):
            found[members[index].name] = promise
    return found


def second_applications(members: Sequence[RoundMember]) -> tuple[str, ...]:
    """The names of those whose applicant has an earlier application among the members that have a score."""
    second, applicants = list[str](), set[str]()
    for member, has_score in zip(members, (~np.isnan(scores_of(members))).tolist(), strict=True):
        if member.applicant in applicants:
            second.append(member.name)
        if has_score and member.applicant is not None:
            applicants.add(member.applicant)
    return tuple(second)
