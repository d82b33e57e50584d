"""The guarantees of options, and until when they hold."""

from collections.abc import Mapping

from ..registry import Registry
from .ball import LpBall, alpha_max
from .calibration import drift_ellipsoid, drift_radius
from .contract import Certified, Promise
from .covariance import Ellipsoid
from .ellipsoid import EllipsoidPromise
from .lp import LpPromise
from .nothing import NoPromise
from .radius import WorstCaseScore
from .retrains import EnsembleScore, RetrainsPromise, accepting, clopper_pearson
from .share_calibration import ShareCalibration, whole_percent

registry = Registry(Promise, __name__, __path__)  # type: ignore[type-abstract]
"""Every promise by the name that a program spec's ``promise.kind`` uses."""


def in_words(guarantee: Mapping[str, float]) -> str | None:
    """The words for the numbers of a guarantee, by the first promise that knows them; None where none does."""
    sentences = (promise.in_words(guarantee) for promise in registry.values())
    return next((words for words in sentences if words is not None), None)


__all__ = [
    "Certified",
    "Ellipsoid",
    "EllipsoidPromise",
    "EnsembleScore",
    "LpBall",
    "LpPromise",
    "NoPromise",
    "Promise",
    "RetrainsPromise",
    "ShareCalibration",
    "WorstCaseScore",
    "accepting",
    "alpha_max",
    "clopper_pearson",
    "drift_ellipsoid",
    "drift_radius",
    "in_words",
    "registry",
    "whole_percent",
]
