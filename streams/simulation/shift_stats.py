"""Statistics of a run in which a feature stops helping: improvement before that, just after it, and at the end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

SHARE = 1 / 6
"""The share of the people after the shift of whom "just after" and "at the end" are the means."""
LEAST_OMEGA = 0.2
"""A feature that helps less than expected by no more than this is not named: that is what a learner expects."""


class Score(Protocol):
    """A policy's score of the first ``rounds`` answers."""

    @property
    def rounds(self) -> int:
        """Number of answers that were scored."""

    @property
    def improvement(self) -> float | None:
        """Mean probability that a suggestion improves whoever carries it out; None without any."""

    @property
    def suggestions(self) -> int:
        """Number of answers that were not for nothing."""


class Phases(Struct, frozen=True):
    """Mean improvement by suggestions in three phases of a run; None of a phase that has not come yet."""

    before: float | None
    just_after: float | None
    end: float | None


class ShiftSummary(Struct, frozen=True):
    """``feature`` stops helping when a program has answered ``at`` rejected people.

    ``improvement`` is by policy. ``omega`` is what its learner has learned by the end, by policy and feature: how much
    less a feature's changes help than expected, 0 as expected and 1 not at all; only of policies that learn it.
    """

    feature: str
    at: int
    improvement: Mapping[str, Phases]
    omega: Mapping[str, Mapping[str, float]]

    @property
    def found(self) -> Mapping[str, str | None]:
        """By policy the feature that helps least of what was expected; None where all help about as expected."""
        best = {policy: max(omega, key=lambda name: omega[name]) for policy, omega in self.omega.items() if omega}
        return {policy: name if self.omega[policy][name] > LEAST_OMEGA else None for policy, name in best.items()}


def phases(curve: Sequence[Score], shift: int, rejected: int) -> Phases:
    """The phases of a curve with a point after each answer, of ``rejected`` people in all."""
    length = max(1, int((rejected - shift) * SHARE))
    return Phases(
        _mean(curve, 0, shift), _mean(curve, shift, shift + length), _mean(curve, rejected - length, rejected)
    )


def _mean(curve: Sequence[Score], first: int, last: int) -> float | None:
    """The mean improvement by the answers from ``first`` to ``last``, as far as they are there."""
    count, total = (end - start for start, end in zip(_sums(curve, first), _sums(curve, last), strict=True))
    return total / count if count else None


def _sums(curve: Sequence[Score], rounds: int) -> tuple[int, float]:
    """Suggestions, and the sum of their improvement, of the first answers."""
    at = bisect_right(curve, rounds, key=lambda score: score.rounds) - 1
    return (0, 0.0) if at < 0 else (curve[at].suggestions, curve[at].suggestions * (curve[at].improvement or 0.0))
