"""Which options of a person last: models of other samples of the data accept them, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Mask
from ...goals import accepted
from ...scores import Scores


class Lasting(NamedTuple):
    """Models of other samples, by their ``scores``, of which a ``share`` should accept an option.

    Examples
    --------
    >>> others = Lasting(lambda X: X - [0.0, 0.1, 0.2], share=0.9)
    >>> others.kept(np.array([[0.6], [0.8]]), threshold=0.5)
    array([False,  True])

    Where none of a person's options is accepted by so many, those are kept that the most accept.

    >>> others.kept(np.array([[0.55], [0.65]]), threshold=0.5)
    array([False,  True])
    """

    scores: Scores
    share: float

    def kept(self, targets: Array, threshold: float) -> Mask:
        """Which of a person's encoded targets (P, D), at least one, are kept, (P,)."""
        share = np.mean(accepted(self.scores(targets), threshold), axis=1)
        return np.asarray(share >= min(self.share, share.max()))
