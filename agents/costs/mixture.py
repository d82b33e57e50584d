"""Priors of what changes cost: mixtures of Gaussians, as they are or broadened."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from ..arrays import Array, Indices, Mask
from .preferences import Lesson

SCALES, SCALE_MASS = (1.0, 3.0), (0.9, 0.08)
"""A broadened prior has each component at these scales, with these shares of its mass; the rest is one Gaussian with
the mean and covariance of all."""
PARTICLES = 48
"""Samples of each component that describe a person who is asked."""
VARIANCE_ROUNDING = 1e-9
"""A variance may be this much below 0, as a share of the largest."""


class GaussianMixture:
    """A mixture of M Gaussians over P weights.

    Parameters
    ----------
    mass
        The probabilities of the components, (M,): not negative, with a sum of 1.
    means
        (M, P).
    covariances
        (M, P, P), or standard deviations of independent weights, (M, P).

    Raises
    ------
    ValueError
        Where shapes do not fit, a probability is negative, their sum is not 1, or a covariance is none.

    Examples
    --------
    >>> mixture = GaussianMixture(np.array([0.5, 0.5]), np.array([[0.0], [10.0]]), np.ones((2, 1)))
    >>> mixture.weights(np.array([0, 1]), np.array([[0.5], [-0.5]]))
    array([[0.5],
           [9.5]])
    >>> mixture.mean, mixture.broadened().mass.round(3)
    (array([5.]), array([0.45, 0.04, 0.45, 0.04, 0.02]))
    """

    def __init__(self, mass: Array, means: Array, covariances: Array) -> None:
        kinds, parameters = means.shape
        if mass.shape != (kinds,) or covariances.shape not in ((kinds, parameters), (kinds, parameters, parameters)):
            shapes = f"{mass.shape}, {means.shape} and {covariances.shape}"
            raise ValueError(f"mass, means and covariances have shapes {shapes}: they do not fit")
        if not all(np.isfinite(array).all() for array in (mass, means, covariances)):
            raise ValueError("the prior holds a number that is not finite")
        if (mass < 0.0).any() or not np.isclose(mass.sum(), 1.0):
            raise ValueError(f"the probabilities {mass.tolist()} are none: they are 0 or more, with a sum of 1")
        self.mass, self.means, self.latents = mass / mass.sum(), means, parameters
        self.particles = PARTICLES
        self._component_of = np.eye(kinds)
        self._factors: Sequence[Array] = [_factor(covariance) for covariance in covariances]

    @property
    def mean(self) -> Array:
        """The mean of all components, (P,)."""
        return np.asarray(self.mass @ self.means)

    @property
    def covariances(self) -> Array:
        """(M, P, P)."""
        return np.array([L @ L.T for L in self._factors])

    @property
    def covariance(self) -> Array:
        """The covariance of all components together, (P, P)."""
        apart = self.means - self.mean
        return np.asarray(np.tensordot(self.mass, self.covariances, axes=1) + (self.mass * apart.T) @ apart)

    def weights(self, kind: Indices, latent: Array) -> Array:
        """The weights (S, P) of people of these components (S,), from their latent numbers (S, P)."""
        weights = self.means[kind]
        for number in np.unique(kind):
            members = kind == number
            weights[members] += latent[members] @ self._factors[number].T
        return weights

    def examples(self, least: int) -> tuple[Array, Array]:
        """Weights (S, P) of people who stand for all, and the probability of each, (S,): always the same ones.

        They are the mean of each component, and draws of it where there are fewer components than ``least``.
        """
        per_kind = max(1, least // len(self.mass))
        latent = np.random.default_rng(0).standard_normal((per_kind, self.latents))
        latent[0] = 0.0
        kind = np.repeat(np.arange(len(self.mass)), per_kind)
        return self.weights(kind, np.tile(latent, (len(self.mass), 1))), self.mass[kind] / per_kind

    def broadened(self) -> GaussianMixture:
        """The same for people who may differ more than it says: each component also wider, and one that spans all."""
        other = copy(self)
        other.mass = np.append(np.outer(self.mass, SCALE_MASS).ravel(), 1.0 - sum(SCALE_MASS))
        other.means = np.concatenate([np.repeat(self.means, len(SCALES), axis=0), self.mean[np.newaxis]])
        other._factors = [scale * L for L in self._factors for scale in SCALES] + [_factor(self.covariance)]
        other._component_of = np.vstack([np.repeat(self._component_of, len(SCALES), axis=0), self.mass])
        return other

    def of_shares(self, shares: Array) -> GaussianMixture:
        """The same for a population of which these shares (M,) are of each component; their sum is above 0."""
        other = copy(self)
        other.mass = shares / shares.sum()
        return other

    def lesson(self, kinds: Array, changed: Mask) -> Lesson:  # weights are of all features
        """Of which components a person is, as far as it is known from their answers."""
        share = kinds @ self._component_of
        return Lesson(share, np.ones(len(share)))


def _factor(covariance: Array) -> Array:
    """L (P, P) with the covariance L L' (P, P), or with these standard deviations (P,)."""
    if covariance.ndim == 1:
        if (covariance < 0.0).any():
            raise ValueError("the prior holds a negative standard deviation")
        return np.diag(covariance)
    variances, axes = np.linalg.eigh(covariance)
    if not np.allclose(covariance, covariance.T) or variances.min() < -VARIANCE_ROUNDING * abs(variances).max():
        raise ValueError("a covariance of the prior is not symmetric, or has a negative variance")
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0.0)))
