"""The verifier of TAP: a classifier of whether two people have the same label."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..contract import Array


class Verifier(NamedTuple):
    """A classifier of pairs of people, which have the same label or not, beside the decision model.

    ``agreement`` gives the probability that two people have the same label, (n,), for n pairs (n, 2 D): one person's
    columns, then the other's. ``confidence`` is the decision model: the probability of the desired label, (n,), of
    people (n, D). ``tolerance`` is the largest difference that is trusted, between ``agreement`` and the
    model's probability of the same label.
    """

    agreement: Callable[[Array], Array]
    confidence: Callable[[Array], Array]
    tolerance: float

    def disagreement(self, person: Array, targets: Array, confidences: Array) -> Array:
        """The difference between ``agreement`` and the model's probability of the same label, (F,).

        The pairs are a person (D,) and each of the targets (F, D), whose ``confidences`` (F,) are known.

        With confidences p and q the model's probability of the same label is p q + (1 - p)(1 - q).
        """
        pairs = np.concatenate([np.broadcast_to(person, targets.shape), targets], axis=1)
        own = self.confidence(person[None])[0]
        expected = own * confidences + (1.0 - own) * (1.0 - confidences)
        disagreement: Array = np.abs(self.agreement(pairs) - expected)
        return disagreement
