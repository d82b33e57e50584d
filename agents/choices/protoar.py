"""ProtoAR: the options that are easiest to carry out, learning nothing."""

from __future__ import annotations

from typing import ClassVar

from ..options import Options
from .contract import Array, FixedChoice, Pick, Random


class ProtoAR(FixedChoice):
    """The option with the largest execution probability, which is the one of smallest cost.

    It assumes that everything that the model accepts is a real improvement, the common assumption of recourse, and
    learns nothing from outcomes. The first of equals is taken.

    Examples
    --------
    >>> import numpy as np
    >>> points, arms = np.array([[0.9], [0.8], [0.7]]), np.array([1, 2])
    >>> options = Options(np.array([0.3]), arms, points, arms, execution=np.array([0.5, 0.7]))
    >>> ProtoAR(points, window=10).choose(options, np.random.default_rng)
    Pick(arm=2, propensity=1.0, execution=0.7)

    References
    ----------
    Van Looveren, A. and Klaise, J. (2021). Interpretable Counterfactual Explanations Guided by Prototypes. ECML PKDD.
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """

    name: ClassVar[str] = "protoar"
    reads_outlook: ClassVar[bool] = False

    def worth(self, options: Options, random: Random) -> Array:
        """The execution probabilities."""
        return options.execution

    def pick(self, options: Options, random: Random) -> Pick:
        """Pick the option with the largest execution probability."""
        best = options.execution.argmax()
        return Pick(options.arm.item(best), 1.0, options.execution.item(best))
