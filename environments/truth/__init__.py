"""Worlds in which P(improves | features after, features before) is known for every change that anybody could make."""

from .conditions import Conditions
from .fitted import Fitted
from .improvement import Improvement, Truth
from .lending import Repayment
from .preferences import PreferenceWorld, WeightWorld
from .world import Chances, TruthWorld

__all__ = [
    "Chances",
    "Conditions",
    "Fitted",
    "Improvement",
    "PreferenceWorld",
    "Repayment",
    "Truth",
    "TruthWorld",
    "WeightWorld",
]
