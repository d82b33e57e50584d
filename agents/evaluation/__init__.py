"""What another policy would have earned: estimates from the log of the one that ran."""

from .estimators import Estimate, Evaluation, Log, evaluate
from .expectation import Expectation
from .follower import Follower

__all__ = ["Estimate", "Evaluation", "Expectation", "Follower", "Log", "evaluate"]
