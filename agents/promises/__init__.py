"""What an option guarantees, and until when."""

from ..registry import Registry
from .ball import LpBall
from .calibration import drift_ellipsoid, drift_radius
from .contract import Promise
from .ellipsoid import Ellipsoid, EllipsoidPromise
from .lp import LpPromise, WorstCaseScore
from .nothing import NoPromise
from .open_options import OpenOptions, alpha_max
from .retrains import EnsembleScore, RetrainsPromise, accepting, clopper_pearson
from .share_calibration import ShareCalibration

registry = Registry(Promise, __name__, __path__)  # type: ignore[type-abstract]
"""Every promise by the name that a program spec's ``promise.kind`` uses."""

__all__ = [
    "Ellipsoid",
    "EllipsoidPromise",
    "EnsembleScore",
    "LpBall",
    "LpPromise",
    "NoPromise",
    "OpenOptions",
    "Promise",
    "RetrainsPromise",
    "ShareCalibration",
    "WorstCaseScore",
    "accepting",
    "alpha_max",
    "clopper_pearson",
    "drift_ellipsoid",
    "drift_radius",
    "registry",
]
