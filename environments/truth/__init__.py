"""Worlds in which P(improves | features after, features before) is known for every change that anybody could make."""

from .conditions import Conditions
from .preferences import PreferenceWorld, WeightWorld
from .truth import Fitted, Repayment, TrueImprovement, Truth
from .world import Chances, TruthWorld

__all__ = [
    "Chances",
    "Conditions",
    "Fitted",
    "PreferenceWorld",
    "Repayment",
    "TrueImprovement",
    "Truth",
    "TruthWorld",
    "WeightWorld",
]
