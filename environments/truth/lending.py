"""The truth of the generated lending population: its structural model of repayment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array
from ...schemas.encoding import FeatureCodec
from ..population import CAUSES, repayment_probability


class Repayment:
    """The probability that a generated applicant repays.

    Parameters
    ----------
    codec
        That of the spec at ``population.SPEC``, or of one with the same features.
    """

    def __init__(self, codec: FeatureCodec) -> None:
        self._codec = codec
        self._index = {feature.name: index for index, feature in enumerate(codec.spec.features)}

    def probability(self, X: Array) -> Array:
        """The probability of repayment (n,) of encoded people (n, D)."""
        codes = self._codec.codes(X)
        columns: dict[str, NDArray[np.generic]] = {name: codes[:, self._index[name]] for name in CAUSES}
        for name in ("dependants", "housing"):
            index = self._index[name]
            categories = np.array(self._codec.spec.features[index].categories)
            columns[name] = categories[codes[:, index].astype(np.intp)]
        return repayment_probability(columns)
