"""TAP: the option that is easiest to carry out, among those whose improvement a verifier confirms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from onward.agents.choices import registry
from onward.agents.choices.contract import Array, FixedChoice, Pick
from onward.agents.options import Options
from onward.benchmarks.improvement.choices.verifier import Verifier


@registry.add
class TAP(FixedChoice):
    """Trustworthy actionable perturbations: an option counts only when a verifier confirms the change of label. A
    baseline of the literature.

    The model may accept a target that is no improvement. The verifier, fitted on pairs of people, estimates whether
    person and target have the same label. When its estimate differs from the model's by more than its tolerance, the
    option is not trusted. Among the trusted options the one with the largest execution probability is taken, the first
    of equals; when none is trusted, the one with the smallest difference. It learns nothing from outcomes.

    Parameters
    ----------
    points
        The arms, shape (K, D); only their number is used.
    window
        Number m of steps in which a reward may arrive; not used.

    Examples
    --------
    A verifier that takes people below 0.75 to have the person's label:

    >>> points, arms = np.array([[0.9], [0.8], [0.7]]), np.array([1, 2])
    >>> verifier = Verifier(
    ...     agreement=lambda pairs: (pairs[:, 1] < 0.75).astype(float),
    ...     confidence=lambda people: (people[:, 0] > 0.5).astype(float),
    ...     tolerance=0.2,
    ... )
    >>> tap = TAP(points, window=10)
    >>> tap.equip(verifier=verifier)
    >>> options = Options(np.array([0.3]), arms, points, arms, execution=np.array([0.5, 0.7]))
    >>> tap.choose(options, np.random.default_rng)
    Pick(arm=1, propensity=1.0, execution=0.5)

    References
    ----------
    Friedbaum, J., Adiga, S. and Tandon, R. (2024). Trustworthy Actionable Perturbations. ICML.
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """

    name: ClassVar[str] = "tap"
    needs: ClassVar[frozenset[str]] = frozenset({"verifier"})

    def __init__(self, points: Array, window: int) -> None:
        super().__init__(points, window)
        self._verifier: Verifier | None = None
        self._known_points, self._confidences = np.empty((0, 0)), np.empty(0)

    def equip(self, **artefacts: Any) -> None:
        """Take the ``verifier``, a ``Verifier``. It is no part of the state."""
        super().equip(**artefacts)
        self._verifier = artefacts["verifier"]
        self._known_points, self._confidences = np.empty((0, 0)), np.empty(0)

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick the trusted option with the largest execution probability."""
        if self._verifier is None:
            raise ValueError("tap has no verifier: call `equip` before the first step")
        confidences = self._confidences_of(self._verifier, options.points)[options.point]
        disagreement = self._verifier.disagreement(options.person, options.targets, confidences)
        trusted = disagreement <= self._verifier.tolerance
        score = np.where(trusted, options.execution, -1.0) if trusted.any() else -disagreement
        best = score.argmax()
        return Pick(options.arm.item(best), 1.0, options.execution.item(best))

    def _confidences_of(self, verifier: Verifier, points: Array) -> Array:
        """The model's confidence in each of the points (M, D), (M,).

        The last points' are kept, because a generator with fixed targets gives the same array to every step.
        """
        if points is not self._known_points:
            self._known_points, self._confidences = points, verifier.confidence(points)
        return self._confidences
