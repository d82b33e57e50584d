"""How people answer: most at once, some late, oddly, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .....environments.truth import draws

QUESTIONS = 3
"""The most that anybody is asked."""


class Manner(NamedTuple):
    """How a ``share`` of people answer.

    To the first ``answers`` questions they name the plan that is the easiest for them, to the others none. Before the
    first one ``waits`` others apply. Who ``is_overdue`` has missed the deadline, and answers once after it if they
    ``come_back``. Who ``is_odd`` names a plan that was not offered, answers twice, and contradicts themselves.
    """

    share: float
    answers: int = QUESTIONS
    waits: int = 0
    is_odd: bool = False
    is_overdue: bool = False
    come_back: bool = False


MANNERS = (
    Manner(0.45),
    Manner(0.12, answers=1),
    Manner(0.12, answers=2),
    Manner(0.08, waits=3),
    Manner(0.08, is_odd=True),
    Manner(0.05, answers=0, is_overdue=True, come_back=True),
    Manner(0.10, answers=0, is_overdue=True),
)


def manners_of(people: int, seed: int) -> Sequence[Manner]:
    """The manner of each of some people: in a drawn order, and each as often as its share says."""
    places = (draws.generator(seed, draws.MANNERS).permutation(people) + 0.5) / people
    kinds = np.cumsum([manner.share for manner in MANNERS])[:-1].searchsorted(places)
    return [MANNERS[kind] for kind in kinds]
