"""Worlds in which P(improves | features after, features before) is known for every change that anybody could make."""

from .conditions import Conditions
from .preferences import PreferenceWorld, WeightWorld
from .truth import Fitted, Improvement, Repayment, Truth
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
