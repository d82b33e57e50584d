"""Exact recourse for linear scores that may change within an L^p ball, and the baselines of the literature."""

from onward.benchmarks.robustness.exact.contract import Answers, Rules, Status
from onward.benchmarks.robustness.exact.ellipsoid import RobustEllipsoid
from onward.benchmarks.robustness.exact.rules import rules_of
from onward.benchmarks.robustness.exact.solver import RobustLinear

__all__ = ["Answers", "RobustEllipsoid", "RobustLinear", "Rules", "Status", "rules_of"]
