"""The principal reasons: the features that lower a score the most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array, Mask

MOST_REASONS = 4
"""Reasons that a person is told: US Regulation B (12 CFR 1002.9, comment 9(b)(2)-1) asks for no more than four."""
LEAST_SHARE = 0.05
"""Of all that lowers a score, the least share that is a reason."""


class Principal(NamedTuple):
    """The numbers of the features that are reasons of a person, the foremost first.

    ``withheld`` are those that would be among them, and of which none may be one.
    """

    stated: tuple[int, ...]
    withheld: tuple[int, ...]


def principal_reasons(contributions: Array, barred: Mask, most: int = MOST_REASONS) -> list[Principal]:
    """The reasons of n people by the contributions of features to their scores, (n, F).

    Only what lowers a score is a reason, and of all that lowers it at least ``LEAST_SHARE``; at most ``most``. A
    feature that is ``barred`` (F,) is none, whatever it contributes: the next ones move up.

    Examples
    --------
    >>> contributions = np.array([[-0.3, 0.2, -0.01, -0.4, -0.2]])
    >>> principal_reasons(contributions, np.array([False, False, False, True, False]))
    [Principal(stated=(0, 4), withheld=(3,))]
    """
    lowers = np.where(contributions < 0.0, -contributions, 0.0)
    counts = (lowers > 0.0) & (lowers >= LEAST_SHARE * lowers.sum(axis=1, keepdims=True))
    order = np.argsort(-lowers, axis=1, kind="stable")
    reasons = []
    for ranked, is_reason in zip(order.tolist(), counts.tolist(), strict=True):
        foremost = [feature for feature in ranked if is_reason[feature]]
        stated = tuple([feature for feature in foremost if not barred[feature]][:most])
        reasons.append(Principal(stated, tuple([feature for feature in foremost[:most] if barred[feature]])))
    return reasons
