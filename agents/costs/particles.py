"""The weights of one person by their answers: weighted particles, kind of person by kind of person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array, Indices
from .plan_costs import PlanCosts
from .prior import Prior
from .responses import Response

LEAST_EFFECTIVE = 0.5
"""A kind whose effective number of particles falls below this share of them is rejuvenated."""
LEAST_MASS = 1e-6
"""A kind that is less probable has its particles as they are."""
SWEEPS = 2
"""Moves of each particle when its kind is rejuvenated."""
SHRINKINGS = 20
"""Most points of an ellipse that are tried for a move; then the particle stays."""


UNSURE = 0.1
"""The share of people who could carry a plan out and would take none, or could carry out none and take one."""


class GivenAnswer(NamedTuple):
    """The plans of a question, by what they cost, and the number of the one that the person would take; None: none."""

    offered: PlanCosts
    picked: int | None

    @property
    def teaches(self) -> bool:
        """Whether it says something of the person. To take none says that plans cannot be carried out, where a cost
        has such plans: those that cost the cap."""
        return self.picked is not None or math.isfinite(self.offered.cap)


def answer_probabilities(costs: Array, cap: float, response: Response) -> Array:
    """The probability of each answer, a pick of one of k plans that cost (k, ...), and at last of none, (k + 1, ...).

    Where no plan costs the ``cap``, because none can be out of reach, nobody is expected to take none.
    """
    picks = response.probability(costs)
    if math.isinf(cap):
        return np.concatenate([picks, np.zeros_like(picks[:1])])
    any_plan = np.where((costs < cap).any(axis=0), 1.0 - UNSURE, UNSURE)
    return np.concatenate([picks * any_plan, 1.0 - any_plan[np.newaxis]])


class Particles:
    r"""The posterior of a person's weights after their answers, as S weighted particles.

    Each kind of a prior has the same number of particles. An answer multiplies their weights by its probability
    (sequential importance sampling), so a kind's total weight is its posterior probability. A kind of which few
    particles count is resampled, and each of its particles moved by elliptical slice sampling, which leaves the
    posterior within the kind as it is: particles never run out.

    Everything random follows from the ``key``: the same key and answers give the same particles. Nothing is shared with
    other people.

    Parameters
    ----------
    prior
        What is known before the first answer.
    response
        How people answer.
    key
        Numbers, 0 or more, that tell this person from others.

    Examples
    --------
    One weight is 1 or 9; the person would rather pay 5 than this weight.

    >>> from .mixture import GaussianMixture
    >>> from .responses import Noiseless
    >>> prior = GaussianMixture(np.array([0.5, 0.5]), np.array([[1.0, 5.0], [9.0, 5.0]]), np.full((2, 2), 0.1))
    >>> person = Particles(prior, Noiseless(), key=[7])
    >>> offered = PlanCosts(np.eye(2), np.array([[0], [1]]), floor=0.0, stop=0.0)
    >>> (person.costs(offered) @ person.probability).round()
    array([5., 5.])
    >>> person.update(GivenAnswer(offered, picked=1))
    >>> person.kinds.round(2), (person.costs(offered) @ person.probability).round()
    (array([0., 1.]), array([9., 5.]))

    References
    ----------
    Murray, I., Adams, R. P. and MacKay, D. J. C. (2010). Elliptical Slice Sampling. AISTATS.
    Chopin, N. (2002). A Sequential Particle Filter Method for Static Models. Biometrika.
    """

    def __init__(self, prior: Prior, response: Response, key: Sequence[int]) -> None:
        self._prior, self._response, self._each = prior, response, prior.particles
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(key))))
        self._kind = np.repeat(np.arange(len(prior.mass)), self._each)
        self._latent = self._random.standard_normal((len(self._kind), prior.latents))
        self._answers: list[GivenAnswer] = []
        with np.errstate(divide="ignore"):
            self._log_weight = np.log(prior.mass)[self._kind] - np.log(self._each)
        self.weights = prior.weights(self._kind, self._latent)
        """The weights of the particles, (S, P)."""

    @property
    def probability(self) -> Array:
        """The probability of each particle, (S,)."""
        probability: Array = np.exp(self._log_weight - self._log_weight.max())
        probability /= probability.sum()
        return probability

    @property
    def kinds(self) -> Array:
        """The posterior probability of each kind of person, (M,): what an answer teaches of the population."""
        return np.asarray(self.probability.reshape(-1, self._each).sum(axis=1))

    def costs(self, plans: PlanCosts) -> Array:
        """The costs (n, S) of n plans."""
        return plans.totals(self.weights)

    def update(self, answer: GivenAnswer) -> None:
        """Learn from an answer."""
        self._answers.append(answer)
        self._log_weight = self._log_weight + self._log_likelihood([answer], self.weights)
        worn = self._worn_out()
        if len(worn):
            self._resample(worn)
            self._move(np.flatnonzero(np.isin(self._kind, worn)))

    def _log_likelihood(self, answers: Sequence[GivenAnswer], weights: Array) -> Array:
        """The log likelihoods (S,) of answers under rows of weights (S, P)."""
        total = np.zeros(len(weights))
        for offered, picked in answers:
            *picks, none = answer_probabilities(offered.totals(weights), offered.cap, self._response)
            total += np.log(none if picked is None else picks[picked])
        return total

    def _worn_out(self) -> Indices:
        """The kinds of which few particles count."""
        probability = self.probability.reshape(-1, self._each)
        mass = probability.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            effective = mass**2 / (probability**2).sum(axis=1)
        return np.flatnonzero((mass > LEAST_MASS) & (effective < LEAST_EFFECTIVE * self._each))

    def _resample(self, kinds: Indices) -> None:
        """Draw the particles of kinds again by their weights, at even distances; a kind keeps its total weight."""
        for kind in kinds:
            members = slice(kind * self._each, (kind + 1) * self._each)
            log_weight = self._log_weight[members]
            share = np.exp(log_weight - log_weight.max())
            places = (self._random.random() + np.arange(self._each)) / self._each
            drawn = np.searchsorted(np.cumsum(share) / share.sum(), places).clip(max=self._each - 1)
            self._latent[members] = self._latent[members][drawn]
            self._log_weight[members] = log_weight.max() + np.log(share.sum()) - np.log(self._each)

    def _move(self, rows: Indices) -> None:
        """Move particles within their kinds by elliptical slice sampling."""
        kind, latent = self._kind[rows], self._latent[rows]
        for _ in range(SWEEPS):
            latent = self._swept(kind, latent)
        self._latent[rows] = latent
        self.weights[rows] = self._prior.weights(kind, latent)

    def _swept(self, kind: Indices, latent: Array) -> Array:
        """Each particle at another point of an ellipse through it and a point of the prior."""
        random, moved = self._random, latent.copy()
        other = random.standard_normal(latent.shape)
        likelihood = self._log_likelihood(self._answers, self._prior.weights(kind, latent))
        least = likelihood + np.log(random.random(len(latent)))
        angle = random.uniform(0.0, 2.0 * np.pi, len(latent))
        low, high = angle - 2.0 * np.pi, angle.copy()
        open_ = np.arange(len(latent))
        for _ in range(SHRINKINGS):
            turned = angle[open_, np.newaxis]
            tried = latent[open_] * np.cos(turned) + other[open_] * np.sin(turned)
            enough = self._log_likelihood(self._answers, self._prior.weights(kind[open_], tried)) > least[open_]
            moved[open_[enough]] = tried[enough]
            open_ = open_[~enough]
            if not len(open_):
                break
            negative = angle[open_] < 0.0
            low[open_] = np.where(negative, angle[open_], low[open_])
            high[open_] = np.where(negative, high[open_], angle[open_])
            angle[open_] = random.uniform(low[open_], high[open_])
        return moved
