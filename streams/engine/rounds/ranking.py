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


class Ranking(NamedTuple):
    """``accepted`` (n,) says who gets a place; ``threshold`` is the score that was needed, 0 where nobody was rejected.

    Without places nobody gets one, and the threshold is 1.
    """

    accepted: Mask
    cut: Cut
    threshold: float


def tie_break(seed: int, program: str, number: int, application: str) -> int:
    """A number that orders equal scores: as good as drawn, and the same in every process and order of arrival."""
    digest = hashlib.blake2b(f"{seed}/{program}/{number}/{application}".encode(), digest_size=7)
    return int.from_bytes(digest.digest(), "big")


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
    >>> scores = np.array([0.4, 0.9, 0.7])
    >>> ranking(scores, scores > 0.5, 1, 0.5, ["a", "b", "c"], len)
    Ranking(accepted=array([False,  True, False]), cut=Cut(score=0.9, tie=1), threshold=0.9)
    """
    if not places:
        return Ranking(np.zeros(len(scores), dtype=np.bool_), Cut(2.0, 0), 1.0 if len(scores) else 0.0)
    candidates = np.flatnonzero(eligible)
    if len(candidates) <= places:
        return Ranking(eligible, NO_CUT, 0.0 if eligible.all() else least_score)
    score = float(np.partition(scores[candidates], -places)[-places])
    above = eligible & (scores > score)
    equal = np.flatnonzero(eligible & (scores == score))
    ties = sorted((tie_of(names[index]), index) for index in equal.tolist())[: places - int(above.sum())]
    accepted = above
    accepted[[index for _, index in ties]] = True
    return Ranking(accepted, Cut(score, ties[-1][0]), score)


def ranking_of_decisions(scores: Array, counts: Mask, approved: Mask) -> Ranking:
    """Who got a place by another system's decisions, and the threshold that explains them best.

    The threshold is a score of somebody approved, at which the fewest decisions are contradicted: people approved below
    it, and people rejected at or above it; the highest of several. Who has no score does not count in it.

    Parameters
    ----------
    scores, counts, approved
        Of n applications, (n,): the scores, who competes, and the decisions.

    Examples
    --------
    >>> scores = np.array([0.2, 0.4, 0.6, 0.7, 0.8])
    >>> ranking_of_decisions(scores, scores > 0, np.array([True, False, True, False, True])).threshold
    0.6
    """
    accepted = counts & approved
    rejected = np.sort(scores[counts & ~approved])
    if not len(rejected):
        return Ranking(accepted, NO_CUT, 0.0)
    cuts = np.sort(scores[accepted])
    if not len(cuts):
        return Ranking(accepted, NO_CUT, 1.0)
    contradicted = np.arange(len(cuts)) + len(rejected) - np.searchsorted(rejected, cuts)
    return Ranking(accepted, NO_CUT, float(cuts[::-1][np.argmin(contradicted[::-1])]))
