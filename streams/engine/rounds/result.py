"""The result of a round, when all its members are scored: who competes, who came back, who gets a place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ....agents.goals import ClosedRound
from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from .promised_scores import PromisedScore, reaches
from .ranking import Ranking, admitted, ranking, ranking_of_decisions, tie_break
from .state import Closing, Member, ProgramRounds

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def scores_of(members: Sequence[Member]) -> Array:
    """The scores of scored members, (n,), NaN where the model cannot score them."""
    return np.array([member.score for member in members], dtype=np.float64)


def competing(members: Sequence[Member], closing: Closing) -> Mask:
    """Which members compete for a place, (n,): they have a score, and no earlier application in the round."""
    duplicates = frozenset(closing.duplicate_applications)
    first = np.array([member.name not in duplicates for member in members], dtype=np.bool_)
    return np.asarray(first & ~np.isnan(scores_of(members)))


def have_place(members: Sequence[Member], closing: Closing, program: Program) -> Mask:
    """Which members have a place, (n,): those above the round's cut, or whom another system has approved."""
    if program.spec.decisions == "external":
        return np.array([bool(member.approved) for member in members], dtype=bool)
    eligible = _eligible(members, closing, program)
    names = [member.name for member in members]
    return admitted(scores_of(members), eligible, closing.cut, names, _tie_breaks(closing, program))


def rank(rounds: ProgramRounds, closing: Closing) -> Ranking:
    """Where the places of a round end. Another system may have decided."""
    members, program = rounds.members, rounds.program
    scores, names = scores_of(members), [member.name for member in members]
    if program.spec.decisions == "external":
        competes, approved = competing(members, closing), have_place(members, closing, program)
        return ranking_of_decisions(scores, competes & approved, competes & ~approved)
    eligible, least = _eligible(members, closing, program), program.spec.model.threshold
    return ranking(scores, eligible, closing.places, least, names, _tie_breaks(closing, program))


def _eligible(members: Sequence[Member], closing: Closing, program: Program) -> Mask:
    return competing(members, closing) & program.approves(np.nan_to_num(scores_of(members)))


def _tie_breaks(closing: Closing, program: Program) -> partial[int]:
    return partial(tie_break, program.spec.policy.seed, program.name, closing.number)


class RoundResult:
    """The n members of a round that is being closed, and how it ends for them.

    Parameters
    ----------
    rounds, closing
        The program's rounds, and the one that is being closed; all its members are scored, and its cut is known.
    bundle
        The model that scored them.
    """

    def __init__(self, rounds: ProgramRounds, closing: Closing, bundle: ModelBundle) -> None:
        self._rounds, self._closing, self._bundle = rounds, closing, bundle
        members = rounds.members
        self._competing = competing(members, closing)
        self._accepted: Mask = self._competing & have_place(members, closing, rounds.program)
        returned: dict[CaseKey, tuple[int, PromisedScore]] = {}
        for index in np.flatnonzero(self._competing).tolist():
            promise = rounds.promise_of(members[index])
            if promise is not None:
                returned.setdefault(promise.key, (index, promise))
        self._returned: Mask = np.zeros(len(members), dtype=np.bool_)
        """Who came back with a promise, (n,); the first of those who name the same one."""
        self._returned[[index for index, _ in returned.values()]] = True
        self._promises = [promise for _, promise in returned.values()]

    @property
    def accepted(self) -> int:
        """How many of those who competed have a place."""
        return int(self._accepted.sum())

    @cached_property
    def rejected(self) -> list[Member]:
        """Who competed and got no place."""
        turned_down = self._competing & ~self._accepted
        return [member for member, is_out in zip(self._rounds.members, turned_down, strict=True) if is_out]

    @property
    def _places(self) -> int:
        """How many places there were: those that another system gave, where it decides and has rejected somebody."""
        external = self._rounds.program.spec.decisions == "external"
        return self.accepted if external and self.rejected else self._closing.places

    @cached_property
    def closed(self) -> ClosedRound:
        """What the goal observes."""
        scores, number = scores_of(self._rounds.members), self._closing.number
        promised = np.array([promise.score_under(self._bundle) for promise in self._promises], dtype=np.float64)
        return ClosedRound(
            number=number,
            places=self._places,
            threshold=self._closing.threshold,
            newcomers=scores[self._competing & ~self._returned],
            own_goal=promised,
            lag=np.array([number - promise.round for promise in self._promises], dtype=np.int64),
            reached=reaches(scores[self._returned], promised),
            accepted=self._accepted[self._returned],
        )


def second_applications(members: Sequence[Member]) -> tuple[str, ...]:
    """The names of those who have an earlier application among the members that have a score.

    It has the same applicant, or they name it in ``previous``.
    """
    second: list[str] = []
    applicants, names = set[str](), set[str]()
    for member, has_score in zip(members, (~np.isnan(scores_of(members))).tolist(), strict=True):
        if member.applicant in applicants or member.previous in names:
            second.append(member.name)
        if has_score:
            names.add(member.name)
            if member.applicant is not None:
                applicants.add(member.applicant)
    return tuple(second)
