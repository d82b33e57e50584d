"""The rules of a competition: its numbers, and how probably people succeed in a change, give up and come back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array
from ...agents.costs import attainability as attainability

DIFFICULTY = (0.84, 0.15, 0.85, 0.78, 0.25, 0.18, 0.29, 0.83, 0.91, 0.1)
"""The difficulty d of each feature, as printed in the paper."""


@dataclass(frozen=True, kw_only=True)
class CompetitionRules:
    """How many people compete for how many places, how hard changes are, and when people give up or come back.

    The paper prints the numbers of people and places, beta, T and the difficulties. It does not print rho, chi, omega
    and nu: their defaults are calibrated so that its baseline is met.

    Parameters
    ----------
    first
        The number N0 of people of the first round.
    newcomers
        The number m of new people in each later round.
    places
        The number k of places of a round.
    horizon
        The number T of rounds within which a rejected person comes back or has given up.
    beta
        How easy changes are: a changed feature succeeds with the probability 1 - exp(-beta a / d).
    rho, chi, omega
        Giving up, with the probability 1 - exp(-(rho b + chi q + omega b q)), of a person whose score lies b below the
        goal and who has come back q times.
    nu
        Coming back, with the probability (1 - u) exp(-nu b) + u, where u = (rounds since the last application) / T.
    retry_while_waiting
        Whether a waiting person tries the changes that have failed again in every round.
    difficulty
        The difficulty d of each feature, (D,).
    tolerance
        By how much a score may miss a goal and still counts as having reached it: rounding of the last digits.
    """

    first: int = 20
    newcomers: int = 10
    places: int = 9
    horizon: int = 1
    beta: float = 0.05
    rho: float = 0.5
    chi: float = 0.02
    omega: float = 0.0
    nu: float = 5.0
    retry_while_waiting: bool = False
    difficulty: tuple[float, ...] = DIFFICULTY
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        for name in ("first", "newcomers", "places"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give a number of people, 0 or more")
        if self.horizon < 1:
            raise ValueError(f"horizon is {self.horizon}: give a number of rounds, 1 or more")
        for name in ("rho", "chi", "omega", "nu", "tolerance"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give a number, 0 or more")
        if not self.beta > 0 or not all(d > 0 for d in self.difficulty):
            raise ValueError("beta and every difficulty must be above 0")

    def places_of(self, t: int) -> int:
        """The number of places of round t."""
        return self.places

    def improvement_of(self, t: int) -> float:
        """By how many standard deviations the features of round t's newcomers are better than at first."""
        return 0.0


Indices = NDArray[np.int64]


def success_probability(people: Array, targets: Array, beta: float, difficulty: Array) -> Array:
    r"""The probability that each change succeeds, (n, D), equation 8: $1 - \exp(-\beta a / d)$; 1 for no change."""
    return -np.expm1(-beta * np.maximum(attainability(people, targets), 0.0) / difficulty)


def dropout_probability(gap: Array, reapplications: Indices, settings: CompetitionRules) -> Array:
    """The probability (n,) of giving up after a rejection, equation 6."""
    pressure = settings.rho * gap + settings.chi * reapplications + settings.omega * gap * reapplications
    return -np.expm1(-pressure)


def return_probability(gap: Array, waited: Indices, settings: CompetitionRules) -> Array:
    """The probability (n,) of coming back in this round after ``waited`` rounds, equations 9 to 11."""
    urgency = waited / settings.horizon
    return (1.0 - urgency) * np.exp(-settings.nu * gap) + urgency
