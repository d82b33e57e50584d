"""Exact recourse for linear scores that may change within an L^p ball, and the baselines of the literature."""

from .contract import Answers, Rules, Status
from .solver import RobustLinear

__all__ = ["Answers", "RobustLinear", "Rules", "Status"]
