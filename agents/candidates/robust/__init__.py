"""Exact recourse for linear scores that may change within an L^p ball, and the baselines of the literature."""

from .contract import Answers, Rules, Status
from .ellipsoid import RobustEllipsoid
from .rules import rules_of
from .solver import RobustLinear

__all__ = ["Answers", "RobustEllipsoid", "RobustLinear", "Rules", "Status", "rules_of"]
