"""The worth of the verdict of certifying retrains: the share and the bound that are stated in its place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ..rounding import ROUNDING

Rows = Literal["other", "later"]

POPULATIONS: Mapping[str, str] = {
    "models_of_other_rows": "other rows of the same population",
    "models_of_later_rows": "later rows of such data",
}
"""What the rows are, by the number of a guarantee that counts the models of them."""


class ShareCalibration(NamedTuple):
    """The share and the bound that are stated of an option, by how many of T certifying retrains accept it.

    Parameters
    ----------
    shares, bounds
        Numbers from 0 to 1, T + 1 of each: of none of the retrains, of one, ..., of all. Measured on models of rows
        that were kept aside: ``shares`` is the share of them that accepts such options, and ``bounds`` what that
        share of one option is at least, for 19 of 20 options.
    models
        How many models were asked.
    rows
        Which rows they were trained on: ``other`` ones of the same population, or ``later`` ones in time.

    Examples
    --------
    >>> calibration = ShareCalibration((0.0, 0.5, 0.8), (0.0, 0.1, 0.4), models=80, rows="other")
    >>> calibration.stated(2)
    {'share': 0.8, 'bound': 0.4, 'models_of_other_rows': 80.0}
    """

    shares: Sequence[float]
    bounds: Sequence[float]
    models: int
    rows: Rows = "other"

    def stated(self, accepting: int) -> dict[str, float]:
        """The numbers of an option that so many of the certifying retrains accept."""
        return {
            "share": self.shares[accepting],
            "bound": self.bounds[accepting],
            f"models_of_{self.rows}_rows": float(self.models),
        }


def models_asked(guarantee: Mapping[str, float]) -> tuple[str, float] | None:
    """On which rows the models of a guarantee were trained, in words, and how many there were; None for resamples."""
    return next(((POPULATIONS[name], guarantee[name]) for name in POPULATIONS if name in guarantee), None)


def whole_percent(share: float) -> str:
    """A share of models in whole per cent, rounded down and below 100: no number of models makes one sure.

    Examples
    --------
    >>> whole_percent(0.998), whole_percent(1.0), whole_percent(1.0 - 0.07)
    ('99%', '99%', '93%')
    """
    # 1 - 0.07 is a hair less than 0.93.
    return f"{min(99, math.floor(100.0 * share + ROUNDING))}%"
