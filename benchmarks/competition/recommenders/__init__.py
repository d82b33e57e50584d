"""Recommenders of the literature that programs do not use: exact ones, gradient descent, the paper's learned phi."""

from onward.benchmarks.competition.recommenders.minimal_l1 import MinimalL1
from onward.benchmarks.competition.recommenders.minimal_l2 import MinimalL2
from onward.benchmarks.competition.recommenders.phi import Phi
from onward.benchmarks.competition.recommenders.wachter import Wachter

__all__ = ["MinimalL1", "MinimalL2", "Phi", "Wachter"]
