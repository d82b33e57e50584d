"""Off-policy evaluation: the reward of another policy, estimated from the log of the one that ran."""

from .estimators import Estimate, Evaluation, Log, evaluate
from .expectation import Expectation
from .follower import Follower

__all__ = ["Estimate", "Evaluation", "Expectation", "Follower", "Log", "evaluate"]
