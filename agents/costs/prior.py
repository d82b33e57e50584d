"""The prior of people's weights before they answer."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..arrays import Mask
from .causal import Causal
from .contract import Array, Cost, Indices
from .plan_costs import PlanCosts
from .preferences import Lesson
from .sampled import SampledCost


class Prior(Protocol):
    """What is known of a person's weights before they answer: M kinds of people, each made of standard normal numbers.

    Whatever its shape, a kind is a map from ``latents`` independent standard normal numbers to P weights. So one
    sampler serves all priors.
    """

    mass: Array
    """The probabilities of the kinds, (M,)."""

    latents: int

    particles: int
    """How many samples of each kind describe a person who is asked."""

    def weights(self, kind: Indices, latent: Array) -> Array:
        """The weights (S, P) of people of these kinds (S,), from their latent numbers (S, latents)."""

    def lesson(self, kinds: Array, changed: Mask) -> Lesson:
        """The lesson of a person about the population, whose kinds have these probabilities (M,) after their answers.

        ``changed`` (F,) are the features that the plans change from which they picked.
        """


class SampledPrior:
    """The samples of a program's cost distribution as a prior: each sample is a kind of person of its own.

    Its weights are those of the cost's shifts. Samples do not move, so an answer only makes them more or less probable.

    Parameters
    ----------
    cost
        The distribution, with what was learned of the population.
    """

    def __init__(self, cost: SampledCost) -> None:
        self._rows, self._editable = np.ascontiguousarray(cost.weights.T), cost.editable
        self.mass = np.full(len(self._rows), 1.0 / len(self._rows))
        self.latents, self.particles = 0, 1

    def weights(self, kind: Indices, latent: Array) -> Array:
        """The weights (S, P) of people who are these samples (S,)."""
        return self._rows[kind]

    def lesson(self, kinds: Array, changed: Mask) -> Lesson:
        """The features that the person would change, as far as the answers tell: a step of scoring, as of ``served``.

        What answers tell of a feature is here that of this person's, not of all that they could give: all at most.
        """
        mean = self._editable.mean(axis=0)
        score, variance = changed * (kinds @ self._editable - mean), mean * (1.0 - mean)
        seen = np.divide(score**2, variance, out=np.zeros_like(mean), where=variance > 0.0).clip(max=1.0)
        return Lesson(seen * mean + score, seen)


def sampled_plan_costs(cost: SampledCost, person: Array, targets: Array) -> PlanCosts:
    """The costs of targets (n, D) for a person (D,) under any sample of a distribution, whatever the order of steps."""
    numbers, first_person = np.arange(len(targets)), np.zeros(len(targets), np.intp)
    shifts = cost.shifts(targets, person[np.newaxis], numbers, first_person)
    return PlanCosts(shifts, numbers[:, np.newaxis], cap=cost.cap)


def prior_of(cost: Cost, shares: Array | None = None) -> Prior:
    """The prior of people by a program's cost: of a causal cost a broadened one.

    ``shares`` are those of ``Preferences`` that have learned from others' answers. Raise ``ValueError`` where the cost
    is the same for everybody: there is nothing to ask.
    """
    if isinstance(cost, Causal):
        return (cost.prior if shares is None else cost.prior.of_shares(shares)).broadened()
    if isinstance(cost, SampledCost):
        return SampledPrior(cost if shares is None else cost.with_shares(shares))
    raise ValueError(f"cost {cost.name!r} is the same for everybody: to ask people needs `causal` or a sampled cost")
