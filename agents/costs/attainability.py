"""Attainability: how easily a feature reaches a value, and how probably a change to it succeeds."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def attainability(people: Array, targets: Array) -> Array:
    """Of each feature's change, 1 / (|target - own| target) - 1 (eq 7): infinite where nothing changes.

    It falls with the size of the change and with the value to be reached, and is 0 for the change from 0 to 1. A change
    to 0 has infinite attainability.

    Parameters
    ----------
    people, targets
        Encoded features in [0, 1], of shapes that broadcast.

    Examples
    --------
    >>> attainability(np.array([0.25, 0.5]), np.array([0.5, 0.5]))
    array([ 7., inf])

    References
    ----------
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102. Equation 7.
    """
    with np.errstate(divide="ignore"):
        attainable: Array = 1.0 / (np.abs(targets - people) * targets) - 1.0
    return attainable


def success_probability(attainability: Array, theta: Array) -> Array:
    """The probability 1 - exp(-theta a) that each change succeeds (eq 8), 1 where nothing changes.

    Parameters
    ----------
    attainability
        Not negative, (..., D).
    theta
        (D,), above 0: the paper's beta / d, with d the feature's difficulty.

    Examples
    --------
    >>> success_probability(np.array([7.0, np.inf]), np.array([0.1, 0.1])).round(3)
    array([0.503, 1.   ])
    """
    return -np.expm1(-theta * attainability)


def plan_success(people: Array, targets: Array, theta: Array) -> Array:
    """The probabilities (n,) that all changes of n plans succeed, from encoded people to targets (n, D).

    Changes succeed independently, so a plan's probability is the product over its changed features.

    Examples
    --------
    >>> plan_success(np.array([[0.25, 0.5]]), np.array([[0.5, 0.5]]), np.array([0.1, 0.1])).round(3)
    array([0.503])
    """
    return np.asarray(success_probability(attainability(people, targets), theta).prod(axis=-1))
