"""TAP: the suggestion that is easiest to carry out, of those whose improvement a verifier believes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contract import Array, Choice, Pick, Pull, State


class Verifier(NamedTuple):
    """A second opinion on whether two people have the same label, fitted on pairs of labelled people.

    ``agreement`` gives the probability that they have, (n,), for n pairs (n, 2 D): one person's columns, then the
    other's. ``confidence`` is the decision model: the probability of the desired label, (n,), of people (n, D).
    ``tolerance`` is how far apart the two may be.
    """

    agreement: Callable[[Array], Array]
    confidence: Callable[[Array], Array]
    tolerance: float

    def doubt(self, person: Array, points: Array, confidences: Array) -> Array:
        """How far the two are apart about a person (D,) and candidates (F, D) of known confidences (F,); (F,).

        With confidences p and q, the model thinks that the labels are the same with probability p q + (1 - p)(1 - q).
        """
        pairs = np.concatenate([np.broadcast_to(person, points.shape), points], axis=1)
        own = self.confidence(person[None])[0]
        expected = own * confidences + (1.0 - own) * (1.0 - confidences)
        doubt: Array = np.abs(self.agreement(pairs) - expected)
        return doubt


class TAP(Choice):
    """Trustworthy actionable perturbations: a candidate counts only when a verifier confirms the change of label.

    A candidate may please the model without being any better. The verifier, fitted on pairs of people, is asked
    whether person and candidate have the same label; where its answer is farther from the model's than its tolerance,
    the candidate is not trusted. Of the trusted the one with the largest execution probability is taken, the first
    among equals; where none is trusted, the one that is doubted least. It learns nothing from outcomes.

    Without a verifier every candidate is trusted.

    Parameters
    ----------
    points
        The candidates, shape (K, D).
    window
        Number m of steps that rewards are waited for; not used.

    Examples
    --------
    >>> tap = TAP(np.array([[0.9], [0.8], [0.7]]), window=10)
    >>> tap.choose(np.array([0.3]), np.array([1, 2]), np.array([0.5, 0.7]), np.random.default_rng)
    Pick(candidate=2, propensity=1.0, execution=0.7)

    A verifier that takes people below 0.75 to be like the person:

    >>> tap.verifier = Verifier(
    ...     agreement=lambda pairs: (pairs[:, 1] < 0.75).astype(float),
    ...     confidence=lambda people: (people[:, 0] > 0.5).astype(float),
    ...     tolerance=0.2,
    ... )
    >>> tap.choose(np.array([0.3]), np.array([1, 2]), np.array([0.5, 0.7]), np.random.default_rng)
    Pick(candidate=1, propensity=1.0, execution=0.5)

    References
    ----------
    Friedbaum, J., Adiga, S. and Tandon, R. (2024). Trustworthy Actionable Perturbations. ICML.
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """

    name: ClassVar[str] = "tap"
    learns: ClassVar[bool] = False
    ignores_zero_reward: ClassVar[bool] = True

    def __init__(self, points: Array, window: int) -> None:
        super().__init__(points, window)
        self._verifier: Verifier | None = None
        self._confidences = np.empty(0)

    @property
    def verifier(self) -> Verifier | None:
        """Whom it trusts; no part of its state."""
        return self._verifier

    @verifier.setter
    def verifier(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._confidences = verifier.confidence(self.points)

    def choose(
        self,
        person: Array,
        feasible: NDArray[np.intp],
        execution: Array,
        random: Callable[[], np.random.Generator],  # noqa: ARG002 -- nothing is drawn
    ) -> Pick | None:
        """Pick the trusted candidate with the largest execution probability."""
        if not len(feasible):
            return None
        score = execution
        if self._verifier is not None:
            doubt = self._verifier.doubt(person, self.points[feasible], self._confidences[feasible])
            trusted = doubt <= self._verifier.tolerance
            score = np.where(trusted, execution, -1.0) if trusted.any() else -doubt
        best = score.argmax()
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
