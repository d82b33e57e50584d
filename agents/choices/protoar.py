"""ProtoAR: the suggestion that is easiest to carry out, learning nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .contract import Array, Choice, Pick, Pull, State


class ProtoAR(Choice):
    """The feasible candidate with the largest execution probability, which is the one of smallest cost.

    It assumes that whatever the model accepts is a real improvement. That is the common assumption of recourse and
    the baseline of the others: it never asks what became of the people it advised. Among equals the first candidate
    is taken.

    Parameters
    ----------
    points
        The candidates, shape (K, D); only their number is used.
    window
        Number m of steps that rewards are waited for; not used.

    Examples
    --------
    >>> protoar = ProtoAR(np.array([[0.9], [0.8], [0.7]]), window=10)
    >>> protoar.choose(np.array([0.3]), np.array([1, 2]), np.array([0.5, 0.7]), np.random.default_rng)
    Pick(candidate=2, propensity=1.0, execution=0.7)

    References
    ----------
    Van Looveren, A. and Klaise, J. (2021). Interpretable Counterfactual Explanations Guided by Prototypes. ECML PKDD.
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """

    name: ClassVar[str] = "protoar"
    learns: ClassVar[bool] = False
    ignores_zero_reward: ClassVar[bool] = True

    def choose(
        self,
        person: Array,  # noqa: ARG002 -- the execution probabilities say how hard it is for them
        feasible: NDArray[np.intp],
        execution: Array,
        random: Callable[[], np.random.Generator],  # noqa: ARG002 -- nothing is drawn
    ) -> Pick | None:
        """Pick the feasible candidate with the largest execution probability."""
        if not len(feasible):
            return None
        best = execution.argmax()
        return Pick(feasible.item(best), 1.0, execution.item(best))

    def update(self, pull: Pull, reward: float) -> None:
        """Learn nothing."""

    def forget(self, pull: Pull) -> None:
        """Take nothing back, since nothing was learned."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Continue from nothing; raise ``ValueError`` when there is something."""
        self.check_state(state)
