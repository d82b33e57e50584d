"""Recommenders of the literature that programs do not use: gradient descent, and the paper's learned agent phi."""

from onward.benchmarks.competition.recommenders.phi import Phi
from onward.benchmarks.competition.recommenders.wachter import Wachter

__all__ = ["Phi", "Wachter"]
