"""What a run came to, for those who read one sentence of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...printable import printable
from ..worlds.run_stats import Summary


class WithoutWay(NamedTuple):
    """People who have no way forward for one reason: their number, and what one of them was told."""

    reason: str
    people: int
    example: str
    told: str


def outcome_in_words(summary: Summary) -> str | None:
    """How many rejected people have a way forward, and how often it helps; None where nobody was answered."""
    shown = summary.shown_answers
    if shown is None or not shown.answers:
        return None
    ways = _of(100, shown.recourse / shown.answers)
    policy = summary.policies.get(shown.policy)
    if policy is None or policy.improvement is None:
        return f"Of 100 rejected people {ways} have a way forward."
    cases = _of(10, policy.improvement)
    return f"Of 100 rejected people {ways} have a way forward; who takes it is helped in {cases} of 10 cases."


def without_way(summary: Summary) -> Iterator[WithoutWay]:
    """Who has none, and why: the most frequent reason first."""
    shown = summary.shown_answers
    if shown is None:
        return
    for reason, people in sorted(shown.none.items(), key=lambda one: (-one[1], one[0])):
        example = shown.examples[reason]
        words = reason.replace("_", " ")
        yield WithoutWay(words, people, printable(example.application), printable(example.detail))


def _of(whole: int, share: float) -> int:
    """A share in so many parts, rounded; not all and not none of them where it is less, or more."""
    rounded = round(whole * share)
    least, most = int(share > 0.0), whole - int(share < 1.0)
    return min(max(rounded, least), most)
