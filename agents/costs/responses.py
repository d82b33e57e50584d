r"""Models of how people answer which of several plans they would take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ..arrays import Array

TIE = 1e-9
"""Costs that differ by no more are equal: the difference is rounding."""


class Response(ABC):
    """With which probability a person picks each of k plans, given what these cost them.

    A person answers at random with the small probability ``slip``: so no answer is impossible, also where answers
    contradict each other.

    Parameters
    ----------
    slip
        In (0, 1); 0 for people who are simulated.
    """

    name: ClassVar[str]
    """What a program spec calls it."""

    def __init__(self, slip: float = 1e-3) -> None:
        self.slip = slip

    def probability(self, costs: Array) -> Array:
        """The probability (k, S) of each pick under S samples of the costs (k, S)."""
        return (1.0 - self.slip) * self._deliberate(costs) + self.slip / len(costs)

    @abstractmethod
    def _deliberate(self, costs: Array) -> Array:
        """The probability (k, S) of each pick by a person who does not slip."""


class Noiseless(Response):
    """People pick the plan that costs them least, one of several equal ones with the same probability (equation 11).

    Examples
    --------
    >>> Noiseless(slip=0.02).probability(np.array([[1.0, 3.0], [2.0, 3.0]]))
    array([[0.99, 0.5 ],
           [0.01, 0.5 ]])
    """

    name: ClassVar[str] = "noiseless"

    def _deliberate(self, costs: Array) -> Array:
        least = costs <= costs.min(axis=0) + TIE
        return np.asarray(least / least.sum(axis=0))


class LogisticResponse(Response):
    r"""People pick a plan with a probability proportional to $\exp(-\lambda C)$ (equation 10).

    Parameters
    ----------
    slip
        In (0, 1).
    temperature
        The paper's $\lambda$, above 0; it does not print its value. 0.9 is the one of the authors' program.

    Examples
    --------
    >>> LogisticResponse().probability(np.array([[1.0, 3.0], [2.0, 3.0]])).round(3)
    array([[0.711, 0.5  ],
           [0.289, 0.5  ]])
    """

    name: ClassVar[str] = "logistic"

    def __init__(self, slip: float = 1e-3, temperature: float = 0.9) -> None:
        super().__init__(slip)
        self.temperature = temperature

    def _deliberate(self, costs: Array) -> Array:
        odds = np.exp(-self.temperature * (costs - costs.min(axis=0)))
        return np.asarray(odds / odds.sum(axis=0))
