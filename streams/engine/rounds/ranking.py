"""Ranking: who gets a place in a round."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Cut(Struct, frozen=True, array_like=True):
    """Places go to scores above ``score``, and to equal ones whose tie-break is at most ``tie``."""

    score: float
    tie: int


NO_CUT = Cut(-1.0, 0)
"""All whom the model accepts get a place."""
NOBODY = Cut(2.0, 0)
"""There are no places."""


class Ranking(NamedTuple):
    """Where the places end; ``threshold`` is the score that was needed, 0 where nobody was rejected.

    Without places nobody gets one, and the threshold is 1.
    """

    cut: Cut
    threshold: float


def tie_break(seed: int, program: str, number: int, application: str) -> int:
    """A number that orders equal scores: as good as drawn, and the same in every process and order of arrival."""
    digest = hashlib.blake2b(f"{seed}/{program}/{number}/{application}".encode(), digest_size=7)
    return int.from_bytes(digest.digest(), "big")


def admitted(scores: Array, eligible: Mask, cut: Cut, names: Sequence[str], tie_of: Callable[[str], int]) -> Mask:
    """A mask of who has a place, (n,): the eligible above the cut, and of those on it the first by tie-break."""
    accepted: Mask = eligible & (scores > cut.score)
    for index in np.flatnonzero(eligible & (scores == cut.score)).tolist():
        accepted[index] = tie_of(names[index]) <= cut.tie
    return accepted


def ranking(
    scores: Array,
    eligible: Mask,
    places: int,
    least_score: float,
    names: Sequence[str],
    tie_of: Callable[[str], int],
) -> Ranking:
    """Give the places to the best of the eligible.

    Parameters
    ----------
    scores, eligible
        Of n applications, (n,): the scores, and which may get a place at all.
    places
        The number k of places.
    least_score
        The score that is needed even where places are left.
    names, tie_of
        The applications' names, (n,), and the tie-break of a name.

    Examples
    --------
    >>> scores, names = np.array([0.4, 0.9, 0.7]), ["a", "b", "c"]
    >>> best = ranking(scores, scores > 0.5, 1, 0.5, names, len)
    >>> best
    Ranking(cut=Cut(score=0.9, tie=1), threshold=0.9)
    >>> admitted(scores, scores > 0.5, best.cut, names, len)
    array([False,  True, False])
    """
    if not places:
        return Ranking(NOBODY, 1.0 if len(scores) else 0.0)
    candidates = np.flatnonzero(eligible)
    if len(candidates) <= places:
        return Ranking(NO_CUT, 0.0 if eligible.all() else least_score)
    score = float(np.partition(scores[candidates], -places)[-places])
    above = int((eligible & (scores > score)).sum())
    equal = np.flatnonzero(eligible & (scores == score))
    ties = sorted(tie_of(names[index]) for index in equal.tolist())
    return Ranking(Cut(score, ties[places - above - 1]), score)


def ranking_of_decisions(scores: Array, accepted: Mask, rejected: Mask) -> Ranking:
    """The ranking that explains another system's decisions best.

    The threshold is a score of somebody approved, at which the fewest decisions are contradicted: people approved below
    it, and people rejected at or above it; the highest of several.

    Parameters
    ----------
    scores, accepted, rejected
        Of n applications, (n,): the scores, and who of those that compete was approved and rejected.

    Examples
    --------
    >>> scores, approved = np.array([0.2, 0.4, 0.6, 0.7, 0.8]), np.array([True, False, True, False, True])
    >>> ranking_of_decisions(scores, approved, ~approved).threshold
    0.6
    """
    turned_down = np.sort(scores[rejected])
    if not len(turned_down):
        return Ranking(NO_CUT, 0.0)
    cuts = np.sort(scores[accepted])
    if not len(cuts):
        return Ranking(NO_CUT, 1.0)
    contradicted = np.arange(len(cuts)) + len(turned_down) - np.searchsorted(turned_down, cuts)
    return Ranking(NO_CUT, float(cuts[::-1][np.argmin(contradicted[::-1])]))
