"""ProtoAR: the options that are easiest to carry out, learning nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..options import Options
from .contract import Choice, Pick, Pull, State


class ProtoAR(Choice):
    """The option with the largest execution probability, which is the one of smallest cost. A baseline of the
    literature.

    It assumes that everything that the model accepts is a real improvement, the common assumption of recourse, and
    learns nothing from outcomes. The first of equals is taken.

    Parameters
    ----------
    points
        The arms, shape (K, D); only their number is used.
    window
        Number m of steps in which a reward may arrive; not used.

    Examples
    --------
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
    learns: ClassVar[bool] = False
    ignores_zero_reward: ClassVar[bool] = True
    baseline: ClassVar[bool] = True

    def choose(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick | None:
        """Pick the option with the largest execution probability."""
        return next(iter(self.select(options, 1, random)), None)

    def select(self, options: Options, max_options: int, random: Callable[[], np.random.Generator]) -> tuple[Pick, ...]:  # noqa: ARG002
        """Pick the options with the largest execution probabilities, up to ``max_options``, the largest first."""
        best = np.argsort(-options.execution, kind="stable")[:max_options].tolist()
        return tuple([Pick(options.arm.item(at), 1.0, options.execution.item(at)) for at in best])

    def update(self, pull: Pull, reward: float) -> None:
        """Learn nothing."""

    def retract(self, pull: Pull) -> None:
        """Take nothing back, since nothing was learned."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return an empty state."""
        return {}

    def restore(self, state: State) -> None:
        """Restore an empty state; raise ``ValueError`` when it is not empty."""
        self.check_state(state)
