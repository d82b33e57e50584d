"""How the members of a round stand when all of them are scored: who counts, who came back, who gets a place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....agents.goals import ClosedRound
from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from .promised_scores import PromisedScore
from .ranking import Ranking, ranking, ranking_of_decisions, tie_break
from .state import Closing, Member, ProgramRounds

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

TOLERANCE = 1e-9
"""By how much a score may miss a promised one and still reaches it: rounding."""


class Standing:
    """The n members of a round that is being closed.

    Parameters
    ----------
    rounds, closing
        The program's rounds, and the one that is being closed; all its members are scored.
    bundle
        The model that scored them.
    """

    def __init__(self, rounds: ProgramRounds, closing: Closing, bundle: ModelBundle) -> None:
        self._rounds, self._closing, self._bundle = rounds, closing, bundle
        members = rounds.members
        self.scores: Array = np.array([member.score for member in members], dtype=np.float64)
        self._external = rounds.program.spec.decisions == "external"
        scored = ~np.isnan(self.scores)
        self.duplicate_applications = () if self._external else second_applications(members, scored)
        """The names of applications of people who have an earlier one in the round. Another system may decide both."""
        twice = frozenset(self.duplicate_applications)
        self.counts: Mask = scored & np.array([member.name not in twice for member in members], dtype=bool)
        """Who competes, (n,)."""
        back: dict[CaseKey, tuple[int, PromisedScore]] = {}
        for index in np.flatnonzero(self.counts).tolist():
            one = members[index]
            promise = rounds.promised_scores.find(one.previous, one.applicant, one.time_ms)
            if promise is not None:
                back.setdefault(promise.key, (index, promise))
        self.back: Mask = np.zeros(len(members), dtype=np.bool_)
        """Who came back with a promise, (n,); the first of those who name the same one."""
        self.back[[index for index, _ in back.values()]] = True
        self.promises = [promise for _, promise in back.values()]

    @cached_property
    def ranking(self) -> Ranking:
        """Who gets a place."""
        rounds, number = self._rounds, self._closing.number
        spec = rounds.program.spec

        def tie_of(name: str) -> int:
            return tie_break(spec.policy.seed, spec.program, number, name)

        if self._external:
            return ranking_of_decisions(
                self.scores, self.counts, np.array([bool(member.approved) for member in rounds.members], dtype=np.bool_)
            )
        eligible = self.counts & rounds.program.approves(np.nan_to_num(self.scores))
        names = [member.name for member in rounds.members]
        return ranking(self.scores, eligible, self._closing.places, spec.model.threshold, names, tie_of)

    @property
    def rejected(self) -> list[Member]:
        """Who competed and got no place."""
        turned_down = self.counts & ~self.ranking.accepted
        return [member for member, is_out in zip(self._rounds.members, turned_down, strict=True) if is_out]

    @property
    def _places(self) -> int:
        """How many places there were: those that another system gave, where it decides and has rejected somebody."""
        return int(self.ranking.accepted.sum()) if self._external and self.rejected else self._closing.places

    @cached_property
    def closed(self) -> ClosedRound:
        """What the goal observes."""
        own_goal = np.array([promised_score(promise, self._bundle) for promise in self.promises], dtype=np.float64)
        return ClosedRound(
            number=self._closing.number,
            places=self._places,
            threshold=self.ranking.threshold,
            newcomers=self.scores[self.counts & ~self.back],
            own_goal=own_goal,
            lag=np.array([self._closing.number - promise.round for promise in self.promises], dtype=np.int64),
            reached=self.scores[self.back] >= own_goal - TOLERANCE,
            accepted=self.ranking.accepted[self.back],
        )


def second_applications(members: Sequence[Member], scored: Mask) -> tuple[str, ...]:
    """The names of those who have an earlier application among the members that have a score, (n,).

    It has the same applicant, or they name it in ``previous``.
    """
    found: list[str] = []
    applicants, names = set[str](), set[str]()
    for member, has_score in zip(members, scored.tolist(), strict=True):
        if member.applicant in applicants or member.previous in names:
            found.append(member.name)
        if has_score:
            names.add(member.name)
            if member.applicant is not None:
                applicants.add(member.applicant)
    return tuple(found)


def promised_score(promise: PromisedScore, bundle: ModelBundle) -> float:
    """The score that a promise asks for, under a model.

    Where the promise was made under another model, it is the least that the promised options score under this one.
    """
    if promise.model == bundle.manifest_sha256:
        return promise.score
    rows = promise.rows
    return float(np.nanmin(bundle.model.score(rows[1:] if len(rows) > 1 else rows)))
