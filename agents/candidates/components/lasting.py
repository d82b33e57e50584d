"""Which options of a person last: models of other samples of the data accept them, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Mask
from ...goals import accepted
from ...scores import Scores


class Lasting(NamedTuple):
    """Models of other samples, by their ``scores``, of which a ``share`` should accept an option.

    Examples
    --------
    >>> others = Lasting(lambda X: X - [0.0, 0.1, 0.2], share=0.9)
    >>> others.kept(np.array([[0.6], [0.8]]), np.array([0, 0]), threshold=0.5)
    array([False,  True])

    Where none of a person's options is accepted by so many, those are kept that the most accept.

    >>> others.kept(np.array([[0.55], [0.65], [0.55]]), np.array([0, 0, 1]), threshold=0.5)
    array([False,  True,  True])
    """

    scores: Scores
    share: float

    def kept(self, targets: Array, owner: Indices, threshold: float) -> Mask:
        """Which encoded targets (P, D), of people by their numbers (P,), are kept, (P,)."""
        share = np.mean(accepted(self.scores(targets), threshold), axis=1)
        largest = np.zeros(owner.max(initial=-1) + 1)
        np.maximum.at(largest, owner, share)
        return np.asarray(share >= np.minimum(self.share, largest[owner]))
